"""Collaborators of a brand. The tokens they issued work only while they have full access (spec "Token validity")."""

from accounts import access, fields
from accounts.store import Connection
from accounts.store.audit import AuditStore
from accounts.store.collaborators import CollaboratorStore
from accounts.store.tokens import TokenStore
from accounts.tokens import tokens
from contracts.accounts import Collaborator, RemoveCollaborator, SetCollaborator
from contracts.caller import Caller
from contracts.errors import invalid
from contracts.events import AccessRevoked
from contracts.record import Nothing

#: The owner is not a collaborator and has no role.
ROLES = ("full", "limited")


def set_collaborator(connection: Connection, caller: Caller, request: SetCollaborator) -> Collaborator:
    """Adds a collaborator or changes the role. Without full access, their tokens answer COLLABORATOR_INSUFFICIENT.

    Repeating the operation changes nothing, also after a later change: it does not bring a removed person back.
    """
    caller.check_operator()
    if request.role not in ROLES:
        raise invalid("role", f"must be one of {', '.join(ROLES)}")
    account_id = access.brand(connection, request.brand_id).account_id
    if request.user_id == account_id:
        raise invalid("user_id", "is the brand's owner")
    access.check_verified(access.account(connection, request.user_id))
    access.lock_account(connection, account_id)
    store = CollaboratorStore(connection)
    before = store.find(request.brand_id, request.user_id)
    is_done = AuditStore(connection).find_by_operation(
        caller.operation_id, brand_id=request.brand_id, action="collaborator.set", subject_id=request.user_id
    )
    if before is not None and (is_done or before.role == request.role):
        return before
    if is_done:  # and removed since
        raise fields.not_found("user_id")
    collaborator = store.set_role(request.brand_id, request.user_id, request.role)
    _audit(connection, caller, request, "collaborator.set", {"role": request.role})
    issued = TokenStore(connection).unrevoked_of_collaborator(request.brand_id, request.user_id)
    if issued:
        token_ids = tuple(owned.token.id for owned in issued)
        access.announce_caller_changed(connection, account_id, token_ids=token_ids)
    return collaborator


def remove_collaborator(connection: Connection, caller: Caller, request: RemoveCollaborator) -> Nothing:
    """Removes a collaborator and revokes every token they issued for the brand.

    Unless `keep` is set, their subscriptions for the brand are disabled and their queued posts held. Repeating the
    operation changes nothing.

    Raises NOT_FOUND for a user who is not a collaborator of the brand.
    """
    caller.check_operator()
    account_id = access.brand(connection, request.brand_id).account_id
    user_id = fields.known_id(request.user_id, field="user_id")
    access.lock_account(connection, account_id)
    if AuditStore(connection).find_by_operation(
        caller.operation_id, brand_id=request.brand_id, action="collaborator.removed", subject_id=user_id
    ):
        return Nothing()
    if not CollaboratorStore(connection).remove(request.brand_id, user_id):
        raise fields.not_found("user_id")
    _audit(connection, caller, request, "collaborator.removed", {"kept": True} if request.keep else None)
    store = TokenStore(connection)
    for issued in store.unrevoked_of_collaborator(request.brand_id, user_id):
        tokens.revoke(connection, caller, issued, keep=True, reason="collaborator removed")
    token_ids = store.ids_of_collaborator(request.brand_id, user_id)
    if token_ids and not request.keep:
        event = AccessRevoked(reason="collaborator_removed", token_ids=token_ids)
        access.announce_access_revoked(connection, account_id, event)
    return Nothing()


def _audit(
    connection: Connection,
    caller: Caller,
    request: SetCollaborator | RemoveCollaborator,
    action: str,
    details: dict[str, object] | None = None,
) -> None:
    AuditStore(connection).add(
        brand_id=request.brand_id,
        actor_id=caller.user_id,
        action=action,
        subject_id=request.user_id,
        details=details,
        operation_id=caller.operation_id,
    )
