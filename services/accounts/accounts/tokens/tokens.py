"""Creates, rotates and revokes the API tokens of an account, with audit entries for collaborators' tokens.

`create_token` and `rotate_token` serve the operator, for any account. How everybody else creates and changes tokens is
in own_tokens.py. Every change locks the account's row, so that the limit on active tokens is exact and a collaborator
who is being removed cannot create one more token. The token with which a request is sent is checked in
authentication.py.
"""

from collections.abc import Callable, Mapping
from typing import Any

from accounts import access, derived_secrets, fields
from accounts.config import AccountsConfig
from accounts.store import Connection
from accounts.store.audit import AuditStore
from accounts.store.brands import BrandStore
from accounts.store.collaborators import CollaboratorStore
from accounts.store.tokens import OwnedToken, TokenStore
from accounts.tokens.scopes import check_scopes
from chassis.cursor import decode_position, encode_position
from chassis.db import clock
from chassis.db.operations import Operations
from chassis.ids import new_id
from chassis.tokens import SHOWN_LENGTH, hash_token
from contracts import accounts as api
from contracts.caller import Caller
from contracts.errors import (
    COLLABORATOR_INSUFFICIENT,
    IDEMPOTENCY_KEY_MISMATCH,
    LIMIT_REACHED,
    TOKEN_EXPIRED,
    TOKEN_REVOKED,
    ApiError,
    invalid,
)
from contracts.events import AccessRevoked
from contracts.plans import PLANS

#: The largest count that JSON parsers of all languages hold exactly.
_MAX_COUNT = 2**53

EDITABLE = ("name", "scopes", "brand_ids", "ip_allowlist", "expires_at")
_KEPT_BY_ROTATION = (
    *EDITABLE, "on_behalf_of_brand_id", "issued_by_collaborator_id",
)  # fmt: skip


def create_token(
    connection: Connection, config: AccountsConfig, caller: Caller, request: api.CreateToken
) -> api.CreatedToken:
    """Creates a token for the operator's request and returns it with its value, which is shown only now.

    Raises VALIDATION_ERROR for an invalid field, NOT_FOUND for an unknown user or brand, and EMAIL_NOT_VERIFIED for an
    unverified account. Raises COLLABORATOR_INSUFFICIENT if the token is for a collaborator without full access to the
    brand, and LIMIT_REACHED if the account has as many active tokens as its tier allows.
    """
    caller.check_operator()
    return create(connection, config, caller, request)


def create(
    connection: Connection,
    config: AccountsConfig,
    caller: Caller,
    request: api.CreateToken,
    check: Callable[[Mapping[str, Any]], None] = lambda _: None,
) -> api.CreatedToken:
    """Creates a token for any caller and returns it with its value.

    `check` gets the new token's fields, and must raise an error if they give rights that the caller may not give.
    Raises the errors of `create_token` as well.
    """
    brand_ids = fields.brand_ids(request.brand_ids)
    values: dict[str, object] = {
        "name": fields.text("name", request.name.strip(), max_length=fields.MAX_NAME_LENGTH),
        "scopes": check_scopes(request.scopes, brand_ids=brand_ids),
        "brand_ids": brand_ids,
        "ip_allowlist": fields.ip_allowlist(request.ip_allowlist),
        "expires_at": fields.expires_at(request.expires_at, clock.now(connection)),
    }
    account = access.check_verified(access.lock_account(connection, _account_of(connection, request)))
    repeated = _repeated(connection, config, caller, account.id, legacy=request.legacy)
    if repeated is not None:
        return repeated
    check(values)
    if BrandStore(connection).count_of(account.id, brand_ids) != len(brand_ids):
        raise fields.not_found("brand_ids")
    if request.issued_by is not None:
        values["on_behalf_of_brand_id"] = request.brand_ids[0]
        values["issued_by_collaborator_id"] = request.issued_by
        _require_full_access(connection, request.brand_ids[0], request.issued_by)
    _check_token_limit(connection, account)
    created = _issue(connection, config, caller, account.id, values, legacy=request.legacy)
    audit(connection, request.issued_by or caller.user_id, created.token, "token.created")
    return created


def revoke_token(connection: Connection, caller: Caller, request: api.RevokeToken) -> api.Token:
    """Revokes a token. Requests with it are refused with TOKEN_REVOKED from now on.

    Unless `keep` is set, the subscriptions made with it (or with a token that it replaced) are disabled, and the queued
    posts made with these tokens are held. Revoking it again changes nothing.
    """
    owned = locked(connection, caller, request.token_id)
    details = {"kept": True} if request.keep else {}
    return revoke(connection, caller, owned, keep=request.keep, **details) or owned.token


def revoke(
    connection: Connection, caller: Caller, owned: OwnedToken, *, keep: bool = False, **details: object
) -> api.Token | None:
    """Revokes a token and returns it. Returns None if it was revoked before. The transaction must have locked the
    account's row.

    Unless `keep` is set, the subscriptions made with it (or with a token that it replaced) are disabled, and the queued
    posts made with these tokens are held. `details` are added to the entry in the audit log.
    """
    store = TokenStore(connection)
    revoked = store.revoke(owned.token.id)
    if revoked is None:
        return None
    audit(connection, caller.user_id, revoked, "token.revoked", **details)
    access.announce_caller_changed(connection, owned.account_id, token_ids=(revoked.id,))
    if not keep:
        event = AccessRevoked(reason="token_revoked", token_ids=store.rotations_of(owned))
        access.announce_access_revoked(connection, owned.account_id, event)
    return revoked


def rotate_token(
    connection: Connection, config: AccountsConfig, caller: Caller, request: api.TokenId
) -> api.CreatedToken:
    """Creates a token with the same rights and expiry as the token that the request names, and revokes the latter at
    once.

    Raises NOT_FOUND for an unknown token, VALIDATION_ERROR for a sandbox token, and TOKEN_REVOKED, TOKEN_EXPIRED or
    COLLABORATOR_INSUFFICIENT for a token that is no longer valid.
    """
    caller.check_operator()
    return rotate(connection, config, caller, locked(connection, caller, request.token_id))


def rotate(
    connection: Connection,
    config: AccountsConfig,
    caller: Caller,
    owned: OwnedToken,
    check: Callable[[api.Token], None] = lambda _: None,
) -> api.CreatedToken:
    """Creates a token that replaces `owned`, and revokes `owned`, for any caller. The transaction must have locked the
    account's row.

    `check` raises an error for tokens that the caller may not change. Raises the errors of `rotate_token` as well.
    """
    old = owned.token
    repeated = _repeated(connection, config, caller, owned.account_id)
    if repeated is not None:
        return repeated
    check_usable(connection, old)
    check(old)
    TokenStore(connection).revoke(old.id)
    access.announce_caller_changed(connection, owned.account_id, token_ids=(old.id,))
    kept = {field: getattr(old, field) for field in _KEPT_BY_ROTATION}
    kept["first_token_id"] = owned.first_id
    created = _issue(connection, config, caller, owned.account_id, kept)
    audit(connection, caller.user_id, old, "token.rotated", new_token_id=created.token.id)
    return created


def check_usable(connection: Connection, token: api.Token) -> None:
    """Checks that a token can be changed or rotated. Raises VALIDATION_ERROR for the sandbox token, TOKEN_REVOKED or
    TOKEN_EXPIRED for a token that was revoked or has expired, and COLLABORATOR_INSUFFICIENT if the collaborator who
    issued the token has lost full access.
    """
    if token.sandbox:
        raise invalid("token_id", "is the sandbox token, which cannot be changed or rotated")
    if token.revoked_at is not None:
        raise ApiError(TOKEN_REVOKED)
    if token.expires_at is not None and token.expires_at <= clock.now(connection):
        raise ApiError(TOKEN_EXPIRED)
    if token.on_behalf_of_brand_id is not None and token.issued_by_collaborator_id is not None:
        _require_full_access(connection, token.on_behalf_of_brand_id, token.issued_by_collaborator_id)


def get_token(connection: Connection, caller: Caller, request: api.TokenId) -> api.Token:
    return find(connection, caller, request.token_id).token


def list_tokens(connection: Connection, caller: Caller, request: api.ListTokens) -> api.TokenList:
    """Returns the tokens of an account, newest first, including revoked ones and collaborators' tokens.

    The operator gets all of them. A person gets one page, which includes the tokens that they issued for other people's
    brands.
    """
    store = TokenStore(connection)
    if caller.is_operator:
        account = access.account(connection, request.user_id)
        return api.TokenList(tokens=tuple(store.list_newest_first(account.id)))
    access.check_owner(caller)
    limit = fields.limit(request.limit)
    found = store.page_of(caller.account_id, limit=limit + 1, before=decode_position(request.cursor))
    tokens, more = tuple(found[:limit]), len(found) > limit
    cursor = encode_position(tokens[-1].created_at, tokens[-1].id) if more and tokens[-1].created_at else None
    return api.TokenList(tokens=tokens, next_cursor=cursor)


def set_token_use(connection: Connection, caller: Caller, request: api.SetTokenUse) -> api.Token:
    """Sets how many requests a token is shown to have made. A repeated call of the same operation changes nothing.

    This changes no limit: limits are checked against other counters, in the quota service.

    Raises NOT_FOUND for an unknown token, and VALIDATION_ERROR for a count out of range.
    """
    caller.check_operator()
    if not 0 <= request.count <= _MAX_COUNT:
        raise invalid("count", f"must be between 0 and {_MAX_COUNT}")
    owned = find(connection, caller, request.token_id)
    operations = Operations(connection)
    if operations.lock(caller).result is not None:
        return owned.token
    access.announce_caller_changed(connection, owned.account_id, token_ids=(owned.token.id,))
    token = TokenStore(connection).set_request_count(owned.token.id, request.count) or owned.token
    operations.end(caller, token.id)
    return token


def _account_of(connection: Connection, request: api.CreateToken) -> str:
    """Returns the id of the account that will own the token: the user whom the request names or, for a collaborator's
    token, the owner of the brand.

    Raises VALIDATION_ERROR if the request's fields do not fit together, and NOT_FOUND for an unknown user or brand.
    """
    if request.issued_by is None:
        return request.user_id
    if len(request.brand_ids) != 1:
        raise invalid("brand_ids", "must name exactly one brand: a collaborator's token is bound to it")
    fields.known_id(request.issued_by, field="issued_by")
    owner_id = access.brand(connection, request.brand_ids[0], field="brand_ids").account_id
    if request.issued_by == owner_id:
        raise invalid("issued_by", "is the brand's owner, not a collaborator")
    if request.user_id not in (owner_id, request.issued_by):
        raise fields.not_found("brand_ids")
    return owner_id


def _require_full_access(connection: Connection, brand_id: str, user_id: str) -> None:
    collaborator = CollaboratorStore(connection).find(brand_id, user_id)
    if collaborator is None or collaborator.role != "full":
        raise ApiError(COLLABORATOR_INSUFFICIENT)


def _check_token_limit(connection: Connection, account: api.User) -> None:
    limit = PLANS[account.tier].active_tokens
    if TokenStore(connection).count_active(account.id) >= limit:
        raise ApiError(LIMIT_REACHED, f"The account already has {limit} active tokens.", limit=limit)


def _repeated(
    connection: Connection, config: AccountsConfig, caller: Caller, account_id: str, *, legacy: bool = False
) -> api.CreatedToken | None:
    """Returns the answer that an earlier try of the caller's operation gave; None if no try has created a token. Raises
    IDEMPOTENCY_KEY_MISMATCH if the token is of another account.
    """
    made = TokenStore(connection).find_by_operation(caller.operation_id) if caller.operation_id else None
    if made is None:
        return None
    if made.account_id != account_id:
        raise ApiError(IDEMPOTENCY_KEY_MISMATCH)
    plain = derived_secrets.live_token(config, caller.operation_id, legacy=legacy)
    return api.CreatedToken(token=made.token, api_token=plain)


def _issue(
    connection: Connection,
    config: AccountsConfig,
    caller: Caller,
    account_id: str,
    values: dict[str, object],
    *,
    legacy: bool = False,
) -> api.CreatedToken:
    plain = derived_secrets.live_token(config, caller.operation_id, legacy=legacy)
    token = TokenStore(connection).add(
        **values,
        id=new_id("tok"),
        account_id=account_id,
        token_sha256=hash_token(plain),
        prefix=plain[:SHOWN_LENGTH],
        sandbox=False,
        operation_id=caller.operation_id,
    )
    return api.CreatedToken(token=token, api_token=plain)


def find(connection: Connection, caller: Caller, token_id: str) -> OwnedToken:
    """Returns a token of the caller's account, or a token that the caller issued as a collaborator. The operator gets
    any token. Raises NOT_FOUND for every other token.
    """
    if not caller.is_operator:
        access.check_owner(caller)
    found = TokenStore(connection).find(fields.known_id(token_id))
    if found is None:
        raise fields.not_found()
    holders = (found.account_id, found.token.issued_by_collaborator_id)
    if not caller.is_operator and caller.user_id not in holders:
        raise fields.not_found()
    return found


def locked(connection: Connection, caller: Caller, token_id: str) -> OwnedToken:
    """Locks the row of the account that owns the token, and returns the token. Raises NOT_FOUND unless the token is of
    the caller's account or was issued by the caller; the operator may lock any.
    """
    access.lock_account(connection, find(connection, caller, token_id).account_id)
    return find(connection, caller, token_id)


def audit(connection: Connection, actor_id: str, token: api.Token, action: str, **details: object) -> None:
    """Adds an audit entry about a token if a collaborator issued it. Does nothing for other tokens (docs/spec.md,
    "Authentication", item 8).
    """
    if token.on_behalf_of_brand_id is not None and not token.session:
        AuditStore(connection).add(
            brand_id=token.on_behalf_of_brand_id,
            actor_id=actor_id,
            action=action,
            subject_id=token.id,
            details={"name": token.name, "issued_by": token.issued_by_collaborator_id, **details},
        )
