"""`token`: API tokens."""

from datetime import datetime

import click

from contracts.accounts import CreateToken, ListTokens, RevokeToken, SetTokenUse, TokenId
from contracts.errors import INVALID_DATE, ApiError
from contracts.quota import SetSandboxUse
from ctl.session import Session, pass_session

COLUMNS = (
    "id",
    "name",
    "prefix",
    "scopes",
    "sandbox",
    "expires_at",
    "revoked_at",
    "last_used_at",
    "request_count",
)


@click.group()
def token() -> None:
    """API tokens of an account."""


@token.command()
@click.option("--user", "user_id", required=True, help="Id of the account that the token acts for.")
@click.option(
    "--scopes",
    required=True,
    help="Comma-separated: read:posts,write:posts. *: everything but managing the account; manage:*: managing it.",
)
@click.option("--name", default="", help="Name of the token.")
@click.option("--brand", "brand_ids", multiple=True, help="Limit the token to this brand. May be repeated.")
@click.option(
    "--expires",
    help="Expiry, RFC 3339 with a time zone, at most 2 years ahead. Without it the token does not expire.",
)
@click.option(
    "--ip",
    "ip_allowlist",
    multiple=True,
    help="IP address or CIDR block that may use the token. May be repeated.",
)
@click.option("--legacy", is_flag=True, help="Use the legacy prefix of live tokens.")
@click.option(
    "--issued-by",
    metavar="COLLABORATOR_ID",
    help="Collaborator who issues the token. Needs exactly one --brand.",
)
@pass_session
def create(
    session: Session,
    user_id: str,
    scopes: str,
    name: str,
    brand_ids: tuple[str, ...],
    expires: str | None,
    ip_allowlist: tuple[str, ...],
    legacy: bool,
    issued_by: str | None,
) -> None:
    """Create a token. Its value (`api_token`) is shown only now."""
    request = CreateToken(
        user_id=user_id,
        scopes=tuple(scope.strip() for scope in scopes.split(",") if scope.strip()),
        name=name,
        brand_ids=brand_ids,
        expires_at=None if expires is None else _read_time(expires),
        ip_allowlist=ip_allowlist,
        legacy=legacy,
        issued_by=issued_by,
    )
    session.show(session.accounts.create_token(session.caller, request))


def _read_time(value: str) -> datetime:
    try:
        return datetime.fromisoformat(value)
    except ValueError:
        raise ApiError(INVALID_DATE, field="expires_at") from None


@token.command()
@click.argument("token_id")
@click.option("--keep", is_flag=True, help="Keep its webhook subscriptions active and its posts queued.")
@pass_session
def revoke(session: Session, token_id: str, keep: bool) -> None:
    """Revoke TOKEN_ID. Requests with it are refused with TOKEN_REVOKED from now on.

    Unless --keep is given, webhook subscriptions created with the token are disabled, and its queued posts are held
    until they are released or cancelled.
    """
    request = RevokeToken(token_id=token_id, keep=keep)
    session.show(session.accounts.revoke_token(session.caller, request))


@token.command()
@click.argument("token_id")
@pass_session
def rotate(session: Session, token_id: str) -> None:
    """Revoke TOKEN_ID and create a token with the same rights. The new token's value is shown only now."""
    session.show(session.accounts.rotate_token(session.caller, TokenId(token_id=token_id)))


@token.command("list")
@click.option("--user", "user_id", required=True, help="Id of the account.")
@pass_session
def list_(session: Session, user_id: str) -> None:
    """List the tokens of an account, newest first, including the sandbox token and revoked tokens."""
    found = session.accounts.list_tokens(session.caller, ListTokens(user_id=user_id))
    session.show_all(found.tokens, COLUMNS)


@token.command("set-used")
@click.argument("token_id")
@click.argument("count", type=click.IntRange(min=0))
@pass_session
def set_used(session: Session, token_id: str, count: int) -> None:
    """Set how many requests TOKEN_ID has made. For a sandbox token, also set how many of its 100 requests are used."""
    found = session.accounts.get_token(session.caller, TokenId(token_id=token_id))
    if found.sandbox:
        session.quota.set_sandbox_use(session.caller, SetSandboxUse(token_id=token_id, count=count))
    session.show(session.accounts.set_token_use(session.caller, SetTokenUse(token_id=token_id, count=count)))
