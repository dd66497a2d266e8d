"""Signing in and out, and the sessions of an account: outside the base path."""

from typing import Annotated

from msgspec import Meta

from contracts.accounts import sign_in
from contracts.errors import EMAIL_NOT_VERIFIED, INVALID_CREDENTIALS, INVALID_TOTP, NOT_FOUND, TOTP_REQUIRED
from contracts.publishing import Limit
from contracts.record import Nothing, Record
from gateway.endpoint import endpoint
from gateway.exchange import Exchange
from gateway.http.client_address import customer_of

SCOPE = "manage:account"
#: The longest User-Agent that is passed on: as much as is shown.
_MAX_AGENT = 100


TotpCode = Annotated[str, Meta(max_length=40)]


class LogIn(Record):
    email: Annotated[str, Meta(max_length=254)]
    password: Annotated[str, Meta(max_length=256)]
    #: A code of the authenticator app or a recovery code, if the account asks for one (TOTP_REQUIRED).
    totp_code: TotpCode | None = None


class PageQuery(Record):
    limit: Limit = 50
    cursor: str | None = None


class BrandPath(Record):
    id: str


@endpoint(
    "POST", "/auth/login", scope=None, meter="", status=201, token=False, idempotent=False, outside=True,
    errors=(INVALID_CREDENTIALS, EMAIL_NOT_VERIFIED, TOTP_REQUIRED, INVALID_TOTP),
)  # fmt: skip
def log_in(exchange: Exchange, request: LogIn) -> sign_in.LoggedIn:
    """Sign in with e-mail address and password; the session's token is shown only in this answer."""
    return exchange.ask(
        exchange.services.accounts.log_in,
        sign_in.LogIn.made_from(
            request,
            asker=str(customer_of(exchange.client_address)),
            user_agent=agent_of(exchange),
            address=str(exchange.client_address or ""),
        ),
    )


@endpoint("POST", "/auth/logout", scope=None, meter="", idempotent=False, outside=True)
def log_out(exchange: Exchange, _request: Nothing) -> sign_in.SessionEnded:
    """Sign out: end the session whose token the request has."""
    return exchange.relay(exchange.services.accounts.log_out, Nothing())


@endpoint("GET", "/auth/sessions", scope=SCOPE, meter="reads", outside=True)
def list_sessions(exchange: Exchange, request: PageQuery) -> sign_in.SessionList:
    """List the account's sessions, newest first."""
    query = sign_in.ListSessions(limit=request.limit, cursor=request.cursor)
    return exchange.relay(exchange.services.accounts.list_sessions, query)


@endpoint("DELETE", "/auth/sessions/{id}", scope=SCOPE, meter="writes", outside=True)
def end_session(exchange: Exchange, request: sign_in.SessionId) -> sign_in.SessionEnded:
    """End a session, for example of a lost device."""
    return exchange.relay(exchange.services.accounts.end_session, request)


@endpoint("GET", "/auth/brands", scope=SCOPE, meter="reads", outside=True)
def list_shared_brands(exchange: Exchange, request: PageQuery) -> sign_in.SharedBrandList:
    """List the brands of other accounts that the person works on as a collaborator, newest first."""
    query = sign_in.ListSharedBrands(limit=request.limit, cursor=request.cursor)
    return exchange.relay(exchange.services.accounts.list_shared_brands, query)


@endpoint(
    "POST", "/auth/brands/{id}/session", scope=SCOPE, meter="writes", status=201, idempotent=False, outside=True,
    errors=(NOT_FOUND,),
)  # fmt: skip
def enter_brand(exchange: Exchange, request: BrandPath) -> sign_in.BrandEntered:
    """Begin a session on a brand of another account, with the person's role; its token is shown only in this answer."""
    return exchange.relay(exchange.services.accounts.enter_brand, sign_in.EnterBrand(brand_id=request.id))


def agent_of(exchange: Exchange) -> str:
    """Returns the client's User-Agent, without characters that cannot be stored or shown."""
    sent = str(exchange.environ.get("HTTP_USER_AGENT", ""))
    return "".join(character for character in sent if character.isprintable())[:_MAX_AGENT]
