"""The API itself (name, errors, description), the request's token, its account, and the account's audit log."""

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from contracts.accounts import AuditLog, EditProfile, ListAudit, User
from contracts.ai import CreditLedger, CreditsBalance, ListLedger
from contracts.errors import BRAND_NOT_AUTHORIZED, ERRORS, NOT_FOUND, ErrorRow
from contracts.plans import PLANS, SANDBOX_PER_DAY, SANDBOX_PER_MINUTE
from contracts.platforms import BRAND_PER_24H, MIN_SCHEDULE_GAP_SECONDS, PLATFORMS
from contracts.publishing import Limit
from contracts.record import Nothing, Record
from gateway import API_VERSION
from gateway.endpoint import endpoint
from gateway.exchange import Exchange
from gateway.routes import views

#: The same limit as in the service `accounts`.
Name = Annotated[str, Meta(max_length=100)]
#: Spec "Limits": the platforms with a cap, as GET /account lists them.
_GUARDRAILS = views.PublishGuardrails(
    per_page={
        code: views.PageGuardrail(per_hour=platform.per_hour, per_24h=platform.per_24h)
        for code, platform in PLATFORMS.items()
        if platform.per_hour is not None and platform.per_24h is not None
    },
    min_gap_milliseconds=MIN_SCHEDULE_GAP_SECONDS * 1000,
    brand_per_24h=BRAND_PER_24H,
)


class EditedAccount(Record):
    firstname: Name | UnsetType = UNSET
    lastname: Name | UnsetType = UNSET
    #: An IANA zone; null: none.
    timezone: Annotated[str, Meta(max_length=100)] | UnsetType | None = UNSET
    #: A BCP 47 tag of a language, as `de` or `pt-BR`; null: none.
    language: Annotated[str, Meta(max_length=35)] | UnsetType | None = UNSET


class AuditQuery(Record):
    brand_id: str | None = None
    limit: Limit = 50
    cursor: str | None = None


@endpoint("GET", "/", scope=None, meter="", token=False)
def get_service(exchange: Exchange, _request: Nothing) -> views.Probe:
    """Get the name and version of this API."""
    return views.Probe(
        service="posthaste",
        version=API_VERSION,
        status="ok",
        documentation_url=exchange.services.config.documentation_url,
    )


@endpoint("GET", "/errors", scope=None, meter="", token=False)
def list_errors(_exchange: Exchange, _request: Nothing) -> tuple[ErrorRow, ...]:
    """List all error codes with category, HTTP status, message and recommended fix."""
    return tuple(ERRORS.values())


@endpoint("GET", "/openapi.json", scope=None, meter="", token=False)
def get_description(exchange: Exchange, _request: Nothing) -> dict[str, Any]:
    """Get the OpenAPI description of this API."""
    return exchange.services.description


@endpoint("GET", "/me", scope=None, meter="reads")
def get_me(exchange: Exchange, _request: Nothing) -> views.Me:
    """Get the token and its owner."""
    user, token = exchange.identity.user, exchange.identity.token
    return views.Me(
        authenticated_as=views.AuthenticatedAs(
            user_id=user.id, email=user.email, firstname=user.firstname, lastname=user.lastname
        ),
        api_key=views.KeyInMe.made_from(token),
    )


@endpoint("GET", "/account", scope="read:account", meter="reads")
def get_account(exchange: Exchange, _request: Nothing) -> views.Account:
    """Get the account, the token and what is left of the quotas."""
    exchange.await_admission()  # so that the counters include this request
    user, token, caller = exchange.identity.user, exchange.identity.token, exchange.caller
    plan = PLANS[caller.tier]
    balance = exchange.ask(exchange.services.ai.get_credits, Nothing()).credits
    storage = exchange.ask(exchange.services.media.get_storage, Nothing())
    return views.Account(
        user=_shown(user),
        credits=views.CreditsInAccount(remaining=balance.available, plan=balance.plan),
        tier=caller.tier,
        api_key=views.KeyInAccount.made_from(token),
        quota=views.AccountQuota(
            storage=views.StorageInAccount(
                **msgspec.structs.asdict(storage.quota), max_file_bytes=storage.max_file_bytes
            ),
            rate_limit=views.RateLimit(
                per_minute=SANDBOX_PER_MINUTE if caller.sandbox else plan.per_minute,
                per_day=SANDBOX_PER_DAY if caller.sandbox else plan.per_day,
            ),
            monthly=exchange.ask(exchange.services.quota.get_usage, Nothing()),
            publish_guardrails=_GUARDRAILS,
        ),
    )


@endpoint("PATCH", "/account", scope="manage:account", meter="writes")
def edit_account(exchange: Exchange, request: EditedAccount) -> views.UserInAccount:
    """Change names, time zone and language of the account's owner; fields that are not sent keep their value."""
    changes = EditProfile.made_from(request)
    return _shown(exchange.ask(exchange.services.accounts.edit_profile, changes))


def _shown(user: User) -> views.UserInAccount:
    names = views.UserInAccount.__struct_fields__
    return views.UserInAccount(**{name: getattr(user, name) for name in names})


@endpoint("GET", "/audit", scope="manage:brands", meter="reads", errors=(NOT_FOUND,))
def list_audit(exchange: Exchange, request: AuditQuery) -> AuditLog:
    """List the audit log of the account's brands, newest first: collaborators, their tokens, held posts."""
    query = ListAudit(brand_id=request.brand_id, limit=request.limit, cursor=request.cursor)
    return exchange.relay(exchange.services.accounts.list_audit, query)


@endpoint("GET", "/account/credits", scope="read:account", meter="reads")
def get_credits(exchange: Exchange, _request: Nothing) -> CreditsBalance:
    """Get the AI credits, what they cost per action, and packs for sale."""
    return exchange.ask(exchange.services.ai.get_credits, Nothing())


@endpoint(
    "GET", "/account/credits/ledger", scope="read:account", meter="reads", errors=(BRAND_NOT_AUTHORIZED,)
)
def list_credit_ledger(exchange: Exchange, request: ListLedger) -> CreditLedger:
    """List what changed the AI credits, newest first, with the balance after each change."""
    return exchange.relay(exchange.services.ai.list_ledger, request)
