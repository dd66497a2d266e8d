"""API tokens, managed by the owner of an account, and by a collaborator for a brand of somebody else."""

from datetime import datetime
from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from contracts import accounts as api
from contracts.errors import (
    COLLABORATOR_INSUFFICIENT,
    EMAIL_NOT_VERIFIED,
    LIMIT_REACHED,
    NOT_FOUND,
    TOKEN_EXPIRED,
    TOKEN_REVOKED,
)
from contracts.publishing import Limit
from contracts.record import Nothing, Record
from gateway.endpoint import endpoint
from gateway.exchange import Exchange

_SCOPE = "manage:tokens"
#: The same limits as in the service `accounts`.
TokenName = Annotated[str, Meta(max_length=100)]
Scopes = Annotated[tuple[str, ...], Meta(min_length=1)]


class TokenPath(Record):
    id: str


class TokenQuery(Record):
    limit: Limit = 50
    cursor: str | None = None


class NewToken(Record):
    """A request to create a token. `expires_at` is at most two years ahead; without it the token does not expire."""

    name: TokenName
    scopes: Scopes
    brand_ids: tuple[str, ...] = ()
    ip_allowlist: tuple[str, ...] = ()
    expires_at: datetime | None = None


class EditedToken(TokenPath, kw_only=True):
    name: TokenName | UnsetType = UNSET
    scopes: Scopes | UnsetType = UNSET
    brand_ids: tuple[str, ...] | UnsetType = UNSET
    ip_allowlist: tuple[str, ...] | UnsetType = UNSET
    expires_at: datetime | UnsetType | None = UNSET


class RevokedToken(TokenPath, kw_only=True):
    """A request to revoke a token. With `keep`, subscriptions made with it stay active, and its posts stay queued."""

    keep: bool = False


@endpoint("GET", "/tokens", scope=_SCOPE, meter="reads")
def list_tokens(exchange: Exchange, request: TokenQuery) -> api.TokenList:
    """List the account's tokens, newest first, with the revoked ones and those of collaborators; never their values."""
    query = api.ListTokens(limit=request.limit, cursor=request.cursor)
    return exchange.relay(exchange.services.accounts.list_tokens, query)


@endpoint(
    "POST", "/tokens", scope=_SCOPE, meter="writes", status=201, shows_secret=True,
    errors=(NOT_FOUND, EMAIL_NOT_VERIFIED, COLLABORATOR_INSUFFICIENT, LIMIT_REACHED),
)  # fmt: skip
def create_token(exchange: Exchange, request: NewToken) -> api.CreatedToken:
    """Create a token, shown only in this answer. It cannot have more rights than the token that creates it."""
    new = api.CreateToken(
        user_id=exchange.caller.user_id,
        name=request.name,
        scopes=request.scopes,
        brand_ids=request.brand_ids,
        ip_allowlist=request.ip_allowlist,
        expires_at=request.expires_at,
    )
    return exchange.relay(exchange.services.accounts.issue_token, new)


@endpoint("GET", "/account/sandbox-token", scope=_SCOPE, meter="reads", errors=(NOT_FOUND,))
def get_sandbox_token(exchange: Exchange, _request: Nothing) -> api.SandboxToken:
    """Get the value of the sandbox token again. Only the owner's session can get it; API tokens are refused."""
    return exchange.relay(exchange.services.accounts.get_sandbox_token, Nothing())


@endpoint("GET", "/tokens/{id}", scope=_SCOPE, meter="reads", errors=(NOT_FOUND,))
def get_token(exchange: Exchange, request: TokenPath) -> api.Token:
    """Get a token's metadata."""
    return exchange.relay(exchange.services.accounts.get_token, api.TokenId(token_id=request.id))


@endpoint(
    "PATCH", "/tokens/{id}", scope=_SCOPE, meter="writes",
    errors=(NOT_FOUND, TOKEN_REVOKED, TOKEN_EXPIRED, COLLABORATOR_INSUFFICIENT),
)  # fmt: skip
def edit_token(exchange: Exchange, request: EditedToken) -> api.Token:
    """Change a token; fields that are not sent keep their value."""
    edited = api.EditToken.made_from(request, token_id=request.id)
    return exchange.relay(exchange.services.accounts.edit_token, edited)


@endpoint(
    "POST", "/tokens/{id}/rotate", scope=_SCOPE, meter="writes", status=201, shows_secret=True,
    errors=(NOT_FOUND, TOKEN_REVOKED, TOKEN_EXPIRED, COLLABORATOR_INSUFFICIENT),
)  # fmt: skip
def rotate_token(exchange: Exchange, request: TokenPath) -> api.CreatedToken:
    """Replace a token by a new one with the same rights, shown only in this answer; the old one is revoked at once."""
    return exchange.relay(exchange.services.accounts.replace_token, api.TokenId(token_id=request.id))


@endpoint("DELETE", "/tokens/{id}", scope=_SCOPE, meter="writes", errors=(NOT_FOUND,))
def revoke_token(exchange: Exchange, request: RevokedToken) -> api.Token:
    """Revoke a token. Subscriptions made with it are disabled and its queued posts held, unless `keep` is true."""
    revoked = api.RevokeToken(token_id=request.id, keep=request.keep)
    return exchange.relay(exchange.services.accounts.revoke_token, revoked)
