"""Changes of an account's e-mail address, and the web page that their links open: outside the base path."""

from typing import Annotated

from msgspec import Meta

from contracts.accounts import email_changes as api
from contracts.errors import EMAIL_TAKEN, INVALID_LINK, ApiError
from contracts.record import Nothing, Record
from gateway.browser import email_page
from gateway.endpoint import endpoint
from gateway.exchange import Exchange
from gateway.http.answers import Answer
from gateway.http.body import form_of
from gateway.routes.auth.passwords import Code, Password
from gateway.routes.auth.sessions import SCOPE, TotpCode

#: The longest password that is passed on: more than the service `accounts` accepts.
_MAX_CHARACTERS = 300


class ChangeEmail(Record):
    #: The new address.
    email: Annotated[str, Meta(max_length=254)]
    password: Password
    #: A code of the authenticator app or a recovery code, if the account asks for one.
    totp_code: TotpCode | None = None


class ConfirmEmail(Record):
    """A request to confirm a new address. `change_id` and `code` are in the link: /auth/email/{change_id}/{code}."""

    change_id: Code
    code: Code
    password: Password


@endpoint("POST", "/auth/email/change", scope=SCOPE, meter="writes", status=202, outside=True)
def change_email(exchange: Exchange, request: ChangeEmail) -> api.EmailChangeRequested:
    """Mail a link that confirms another address for the account. Until it is confirmed nothing changes."""
    asked = api.ChangeEmail(email=request.email, password=request.password, totp_code=request.totp_code)
    return exchange.ask(exchange.services.accounts.change_email, asked)


@endpoint("GET", "/auth/email/change", scope=SCOPE, meter="reads", outside=True)
def get_email_change(exchange: Exchange, _request: Nothing) -> api.EmailChangeState:
    """Get the change of the account's address that waits for its confirmation."""
    return exchange.relay(exchange.services.accounts.get_email_change, Nothing())


@endpoint("DELETE", "/auth/email/change", scope=SCOPE, meter="writes", outside=True)
def cancel_email_change(exchange: Exchange, _request: Nothing) -> api.EmailChangeCancelled:
    """Cancel the change that waits: the link to the new address stops working."""
    return exchange.relay(exchange.services.accounts.cancel_email_change, Nothing())


@endpoint(
    "POST", "/auth/email/confirm", scope=None, meter="", errors=(INVALID_LINK, EMAIL_TAKEN), token=False,
    idempotent=False, outside=True,
)  # fmt: skip
def confirm_email(exchange: Exchange, request: ConfirmEmail) -> api.EmailChange:
    """Change the account's address with the account's password and the link of the mail, which works once."""
    confirmed = api.ConfirmEmailChange.made_from(request)
    return exchange.ask(exchange.services.accounts.confirm_email_change, confirmed)


@endpoint(
    "GET", "/auth/email/{change_id}/{code}", scope=None, meter="", result=str, token=False, outside=True
)
def view_email_change(exchange: Exchange, request: api.EmailChangeLink) -> Answer:
    """Show the web page that the link in the mail opens. Changes nothing, because mail scanners follow links."""
    try:
        return email_page.of(exchange.ask(exchange.services.accounts.view_email_change, request))
    except ApiError as error:
        return email_page.of_error(error)


@endpoint(
    "POST", "/auth/email/{change_id}/{code}", scope=None, meter="", result=str, idempotent=False, token=False,
    outside=True,
)  # fmt: skip
def confirm_email_by_form(exchange: Exchange, request: api.EmailChangeLink) -> Answer:
    """Change the address; sent by the form of the web page that the link in the mail opens."""
    password = form_of(exchange.body).get("password", "")[:_MAX_CHARACTERS]
    confirmed = api.ConfirmEmailChange(change_id=request.change_id, code=request.code, password=password)
    try:
        return email_page.of_confirmed(
            exchange.ask(exchange.services.accounts.confirm_email_change, confirmed)
        )
    except ApiError as error:
        return email_page.of_error(error)
