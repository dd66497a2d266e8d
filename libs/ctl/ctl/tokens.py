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
@click.option("--user", "user_id", required=True, help="The account it acts for.")
@click.option(
    "--scopes", required=True, help="Comma-separated, for example read:posts,write:posts; * for all."
)
@click.option("--name", default="", help="What it is for.")
@click.option("--brand", "brand_ids", multiple=True, help="Limit it to this brand (repeatable).")
@click.option("--expires", help="RFC 3339 with a zone, at most 2 years away; without it the token stays.")
@click.option(
    "--ip", "ip_allowlist", multiple=True, help="Address or CIDR block it may come from (repeatable)."
)
@click.option("--legacy", is_flag=True, help="With the legacy live prefix.")
@click.option(
    "--issued-by", metavar="COLLABORATOR_ID", help="The collaborator who issues it, for one --brand."
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
    """Create a token. It is shown this once, as `api_token`."""
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
@click.option("--keep", is_flag=True, help="Leave its subscriptions active and its posts queued.")
@pass_session
def revoke(session: Session, token_id: str, keep: bool) -> None:
    """Revoke TOKEN_ID: from now on it answers TOKEN_REVOKED. Subscriptions made with it are disabled, and its queued
    posts are held until somebody releases or cancels them."""
    request = RevokeToken(token_id=token_id, keep=keep)
    session.show(session.accounts.revoke_token(session.caller, request))


@token.command()
@click.argument("token_id")
@pass_session
def rotate(session: Session, token_id: str) -> None:
    """Replace TOKEN_ID by a new token with the same rights, and revoke it. The new one is shown this once."""
    session.show(session.accounts.rotate_token(session.caller, TokenId(token_id=token_id)))


@token.command("list")
@click.option("--user", "user_id", required=True, help="The account.")
@pass_session
def list_(session: Session, user_id: str) -> None:
    """List the tokens of an account, newest first: the sandbox token and revoked ones included."""
    found = session.accounts.list_tokens(session.caller, ListTokens(user_id=user_id))
    session.show_all(found.tokens, COLUMNS)


@token.command("set-used")
@click.argument("token_id")
@click.argument("count", type=click.IntRange(min=0))
@pass_session
def set_used(session: Session, token_id: str, count: int) -> None:
    """Set how often TOKEN_ID has been used; for a sandbox token its lifetime use as well."""
    found = session.accounts.get_token(session.caller, TokenId(token_id=token_id))
    if found.sandbox:
        session.quota.set_sandbox_use(session.caller, SetSandboxUse(token_id=token_id, count=count))
    session.show(session.accounts.set_token_use(session.caller, SetTokenUse(token_id=token_id, count=count)))
