"""Resolves a token's hash to its caller in one statement (the hot path), and records token use in batches."""

from msgspec.structs import replace

from accounts import fields
from accounts.store import Connection
from accounts.store.tokens import Credential, TokenStore
from accounts.tokens.scopes import ROLE_SCOPES
from chassis.ids import is_id
from contracts.accounts import Authenticate, Authenticated, RecordUse, Token
from contracts.caller import Caller
from contracts.errors import COLLABORATOR_INSUFFICIENT, INVALID_TOKEN, TOKEN_EXPIRED, TOKEN_REVOKED, ApiError
from contracts.record import Nothing


def authenticate(connection: Connection, request: Authenticate) -> Authenticated:
    """Returns the token with this hash, its user, and the caller of requests with it.

    Raises INVALID_TOKEN if there is no such token, and TOKEN_REVOKED or TOKEN_EXPIRED if it was revoked or has expired.
    Raises COLLABORATOR_INSUFFICIENT if a collaborator issued it and their role no longer permits that.
    """
    well_formed = fields.is_sha256(request.token_sha256)
    found = TokenStore(connection).credential(request.token_sha256) if well_formed else None
    if found is None:
        raise ApiError(INVALID_TOKEN)
    return authenticated(found)


def authenticated(found: Credential) -> Authenticated:
    """Returns the caller of requests with this token, the caller's user, and the token itself (pure).

    For a collaborator's token, account and tier are those of the brand's owner, and the user is the collaborator.
    Raises TOKEN_REVOKED or TOKEN_EXPIRED if the token was revoked or has expired, and COLLABORATOR_INSUFFICIENT if a
    collaborator issued it and their role no longer permits that.
    """
    token = found.token
    if token.revoked_at is not None:
        raise ApiError(TOKEN_REVOKED)
    if token.expires_at is not None and token.expires_at <= found.now:
        raise ApiError(TOKEN_EXPIRED)
    if token.issued_by_collaborator_id is not None:
        token = _of_collaborator(found)
    caller = Caller(
        account_id=found.account_id,
        user_id=found.user.id,
        token_id=token.id,
        scopes=token.scopes,
        tier=found.tier,
        sandbox=token.sandbox,
        verified=found.verified,
        brand_ids=token.brand_ids or None,
    )
    return Authenticated(caller=caller, user=found.user, token=token)


def _of_collaborator(found: Credential) -> Token:
    """Returns a collaborator's token with its present scopes. The scopes of a brand session follow the collaborator's
    role.

    Raises TOKEN_REVOKED for a brand session if the session that it was opened from has ended. Raises
    COLLABORATOR_INSUFFICIENT if the role is no longer sufficient: an API token needs the role full, a brand session any
    role.
    """
    token = found.token
    if not token.session:
        if found.role != "full":
            raise ApiError(COLLABORATOR_INSUFFICIENT)
        return token
    if not found.parent_lives:
        raise ApiError(TOKEN_REVOKED)
    scopes = ROLE_SCOPES.get(found.role or "")
    if scopes is None:
        raise ApiError(COLLABORATOR_INSUFFICIENT)
    return replace(token, scopes=scopes)


def record_use(connection: Connection, request: RecordUse) -> Nothing:
    """Adds a gateway's batch of counts to the tokens' use; malformed ids and unknown tokens are ignored."""
    uses = [use for use in request.uses if is_id(use.token_id) and use.last_used_at.tzinfo]
    if uses:
        TokenStore(connection).record_use(uses)
    return Nothing()
