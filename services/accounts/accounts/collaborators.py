"""Collaborators of a brand: lists them, changes their roles and removes them. The API tokens that they issued work only
while they have full access (docs/spec.md, "Token validity").
"""

from operator import attrgetter

from accounts import access, fields, invitations
from accounts.store import Connection
from accounts.store.audit import AuditStore
from accounts.store.collaborators import CollaboratorStore
from accounts.store.tokens import TokenStore
from accounts.tokens import tokens
from chassis.cursor import decode_position, one_page
from contracts.accounts import (
    Collaborator,
    CollaboratorList,
    ListCollaborators,
    RemoveCollaborator,
    SetCollaborator,
)
from contracts.caller import Caller
from contracts.errors import invalid
from contracts.events import AccessRevoked
from contracts.record import Nothing


def list_collaborators(
    connection: Connection, caller: Caller, request: ListCollaborators
) -> CollaboratorList:
    """Returns one page of the people who work on a brand of the caller's account, newest first. Raises NOT_FOUND for
    any other brand.
    """
    access.own_brand(connection, caller, request.brand_id)
    limit = fields.limit(request.limit)
    found = CollaboratorStore(connection).list_newest_first(
        request.brand_id, limit=limit + 1, before=decode_position(request.cursor)
    )
    people, cursor = one_page(found, limit, attrgetter("created_at", "user_id"))
    return CollaboratorList(collaborators=people, next_cursor=cursor)


def set_collaborator(connection: Connection, caller: Caller, request: SetCollaborator) -> Collaborator:
    """Changes the role of a collaborator. The operator may also add a collaborator.

    If the new role is not full, requests with the collaborator's API tokens are refused with COLLABORATOR_INSUFFICIENT
    from then on. Repeating the operation changes nothing, even after a later change, so it does not bring a removed
    person back.

    Raises VALIDATION_ERROR for an unknown role, and NOT_FOUND for an unknown brand. An owner gets NOT_FOUND for a user
    who is not a collaborator. The operator gets NOT_FOUND for an unknown user, VALIDATION_ERROR for the brand's owner,
    and EMAIL_NOT_VERIFIED for an unverified user.
    """
    invitations.check_role(request.role)
    account_id = _owner_of(connection, caller, request.brand_id)
    if caller.is_operator:
        if request.user_id == account_id:
            raise invalid("user_id", "is the brand's owner")
        access.check_verified(access.account(connection, request.user_id))
    access.lock_account(connection, account_id)
    store = CollaboratorStore(connection)
    before = store.find(request.brand_id, request.user_id)
    if before is None and not caller.is_operator:
        raise fields.not_found()
    is_done = AuditStore(connection).find_by_operation(
        caller.operation_id, brand_id=request.brand_id, action="collaborator.set", subject_id=request.user_id
    )
    if before is not None and (is_done or before.role == request.role):
        return before
    if is_done:  # and removed since
        raise fields.not_found("user_id")
    collaborator = store.set_role(request.brand_id, request.user_id, request.role)
    _end_invitation(connection, request)
    _audit(connection, caller, request, "collaborator.set", {"role": request.role})
    issued = TokenStore(connection).unrevoked_of_collaborator(request.brand_id, request.user_id)
    if issued:
        token_ids = tuple(owned.token.id for owned in issued)
        access.announce_caller_changed(connection, account_id, token_ids=token_ids)
    return collaborator


def remove_collaborator(connection: Connection, caller: Caller, request: RemoveCollaborator) -> Nothing:
    """Removes a collaborator, revokes every token they issued for the brand, and withdraws an open invitation to it.

    Unless `keep` is set, their subscriptions for the brand are disabled, and the queued posts that they made there are
    held. Repeating the operation changes nothing.

    Raises NOT_FOUND for a user who is not a collaborator of the brand.
    """
    account_id = _owner_of(connection, caller, request.brand_id)
    field = "user_id" if caller.is_operator else None
    user_id = fields.known_id(request.user_id, field=field)
    access.lock_account(connection, account_id)
    if AuditStore(connection).find_by_operation(
        caller.operation_id, brand_id=request.brand_id, action="collaborator.removed", subject_id=user_id
    ):
        return Nothing()
    if not CollaboratorStore(connection).remove(request.brand_id, user_id):
        raise fields.not_found(field)
    _audit(connection, caller, request, "collaborator.removed", {"kept": True} if request.keep else None)
    _end_invitation(connection, request)
    store = TokenStore(connection)
    for issued in store.unrevoked_of_collaborator(request.brand_id, user_id):
        tokens.revoke(connection, caller, issued, keep=True, reason="collaborator removed")
    token_ids = store.ids_of_collaborator(request.brand_id, user_id)
    if token_ids and not request.keep:
        event = AccessRevoked(reason="collaborator_removed", token_ids=token_ids)
        access.announce_access_revoked(connection, account_id, event)
    return Nothing()


def _owner_of(connection: Connection, caller: Caller, brand_id: str) -> str:
    """Returns the id of the account that owns a brand, if the caller may manage the brand.

    The operator may manage every brand, and an owner the brands of their own account: for another brand raises
    NOT_FOUND. A collaborator may manage none: raises COLLABORATOR_INSUFFICIENT.
    """
    if caller.is_operator:
        return access.brand(connection, brand_id).account_id
    access.own_brand(connection, caller, brand_id)
    return caller.account_id


def _end_invitation(connection: Connection, request: SetCollaborator | RemoveCollaborator) -> None:
    """Deletes an open invitation of this person to the brand: accepting it later would undo the change or removal."""
    invitations.cancel(connection, request.brand_id, access.account(connection, request.user_id).email)


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
