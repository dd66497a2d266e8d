"""Lets people manage tokens of their own account, and of the brands that they work on as collaborators.

No token gets more rights than the token with which the request was sent (rights.py).
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from accounts import access, fields
from accounts.config import AccountsConfig
from accounts.store import Connection
from accounts.store.brands import BrandStore
from accounts.store.collaborators import CollaboratorStore
from accounts.store.tokens import TokenStore
from accounts.tokens import rights, tokens
from accounts.tokens.scopes import check_scopes
from chassis.db import clock
from chassis.db.database import Database
from chassis.db.operations import Operations, once
from chassis.ids import is_id
from contracts import accounts as api
from contracts.caller import Caller
from contracts.errors import MISSING_SCOPE, TOKEN_REVOKED, ApiError, invalid

#: The scope is checked again here, on the token as it is stored.
SCOPE = "manage:tokens"


def issue_token(
    connection: Connection, config: AccountsConfig, caller: Caller, request: api.CreateToken
) -> api.CreatedToken:
    """Creates a token for a person and returns it with its value, which is shown only now.

    Raises the errors of `create_token`. Also raises MISSING_SCOPE if the new token would have a scope that the caller
    lacks, and VALIDATION_ERROR if its IP allowlist or its expiry would go beyond that of the caller's own token.
    """
    asked = _as_asked(connection, caller, request)
    return tokens.create(connection, config, caller, asked, partial(_check_rights, connection, caller))


def replace_token(
    connection: Connection, config: AccountsConfig, caller: Caller, request: api.TokenId
) -> api.CreatedToken:
    """Creates a token with the same rights and expiry as the token that the request names, revokes the latter, and
    returns the new one with its value.

    Raises the errors of `rotate_token`. Also raises MISSING_SCOPE if the token has a scope that the caller lacks, and
    VALIDATION_ERROR if its IP allowlist or its expiry goes beyond that of the caller's own token, or if another person
    issued it as a collaborator.
    """
    owned = tokens.locked(connection, caller, request.token_id)
    return tokens.rotate(connection, config, caller, owned, partial(_check_changeable, connection, caller))


def edit_token(database: Database, caller: Caller, request: api.EditToken) -> api.Token:
    """Changes those fields of a valid token that the request sets, and returns the token. The change applies from the
    token's next request on. A repeat of the operation changes nothing.

    Raises NOT_FOUND for an unknown token or brand. Raises VALIDATION_ERROR for an invalid field, for the sandbox token,
    and for a token that another person issued as a collaborator. Raises TOKEN_REVOKED, TOKEN_EXPIRED or
    COLLABORATOR_INSUFFICIENT for a token that is no longer valid.

    Before and after the change the token may not have more rights than the caller's own token. Otherwise raises
    MISSING_SCOPE for a scope, and VALIDATION_ERROR for the IP allowlist or the expiry.
    """

    def edit() -> api.Token:
        with database.transaction() as connection:
            operations = Operations(connection)
            operations.begin(caller)
            owned = tokens.locked(connection, caller, request.token_id)
            old = owned.token
            tokens.check_usable(connection, old)
            _check_changeable(connection, caller, old)
            values = {name: getattr(old, name) for name in tokens.EDITABLE} | _edits(connection, request)
            values["scopes"] = check_scopes(values["scopes"], brand_ids=values["brand_ids"])
            if old.on_behalf_of_brand_id is not None and values["brand_ids"] != old.brand_ids:
                raise invalid("brand_ids", "cannot be changed: a collaborator's token is bound to its brand")
            _check_rights(connection, caller, values)
            if BrandStore(connection).count_of(owned.account_id, values["brand_ids"]) != len(
                values["brand_ids"]
            ):
                raise fields.not_found("brand_ids")
            token = TokenStore(connection).edit(old.id, **values)
            access.announce_caller_changed(connection, owned.account_id, token_ids=(old.id,))
            tokens.audit(connection, caller.user_id, token, "token.changed")
            operations.end(caller, old.id)
        return token

    def again(token_id: str) -> api.Token:
        with database.reading() as connection:
            return tokens.find(connection, caller, token_id).token

    return once(database, caller, edit, again)


def _as_asked(connection: Connection, caller: Caller, request: api.CreateToken) -> api.CreateToken:
    """Returns a person's request for a new token, with the values that `create` needs.

    Fields that only the operator may set are overwritten: the new token is for the caller's own account. If the request
    names exactly one brand, and the caller is a collaborator on it, the token is for that brand instead. A missing IP
    allowlist or expiry is taken from the caller's own token.
    """
    access.check_owner(caller)
    request = replace(request, user_id=caller.user_id, issued_by=None, legacy=False)
    if len(request.brand_ids) == 1 and is_id(request.brand_ids[0]):
        [brand_id] = request.brand_ids
        if CollaboratorStore(connection).find(brand_id, caller.user_id) is not None:
            request = replace(request, issued_by=caller.user_id)
    own = _own(connection, caller)
    limits = {name: value for name, value in rights.defaults(own).items() if not getattr(request, name)}
    return replace(request, **limits)


def _own(connection: Connection, caller: Caller) -> api.Token:
    """Returns the caller's own token as it is in the database, because a gateway's copy may be old. Raises
    TOKEN_REVOKED if it was revoked, and MISSING_SCOPE if it may no longer manage tokens.
    """
    owned = TokenStore(connection).find_presented(caller.token_id)
    if owned is None or owned.token.revoked_at is not None or owned.account_id != caller.account_id:
        raise ApiError(TOKEN_REVOKED)
    if not replace(caller, scopes=owned.token.scopes).has_scope(SCOPE):
        raise ApiError(MISSING_SCOPE, required_scope=SCOPE, your_scopes=list(owned.token.scopes))
    return owned.token


def _check_rights(connection: Connection, caller: Caller, values: Mapping[str, Any]) -> None:
    own = _own(connection, caller)
    rights.check_within(replace(caller, scopes=own.scopes), own, values)


def _check_changeable(connection: Connection, caller: Caller, token: api.Token) -> None:
    """Checks that the caller may change a token. Raises VALIDATION_ERROR if another person issued it as a collaborator.
    Raises MISSING_SCOPE or VALIDATION_ERROR if it has more rights than the caller's own token.
    """
    if token.issued_by_collaborator_id not in (None, caller.user_id):
        raise invalid("token_id", "is a collaborator's token: the owner of the brand can only revoke it")
    _check_rights(connection, caller, {name: getattr(token, name) for name in tokens.EDITABLE})


def _edits(connection: Connection, request: api.EditToken) -> dict[str, Any]:
    """Returns the checked values of the fields that the request sets. Scopes are checked later, with the brands."""
    edits: dict[str, Any] = {}
    if request.name is not UNSET:
        edits["name"] = fields.text("name", request.name.strip(), max_length=fields.MAX_NAME_LENGTH)
    if request.scopes is not UNSET:
        edits["scopes"] = request.scopes
    if request.brand_ids is not UNSET:
        edits["brand_ids"] = fields.brand_ids(request.brand_ids)
    if request.ip_allowlist is not UNSET:
        edits["ip_allowlist"] = fields.ip_allowlist(request.ip_allowlist)
    if request.expires_at is not UNSET:
        edits["expires_at"] = fields.expires_at(request.expires_at, clock.now(connection))
    return edits
