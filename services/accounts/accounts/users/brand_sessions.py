"""Lets collaborators work on brands of other accounts: lists these brands, and opens brand sessions.

A brand session acts on the owner's account, for this one brand, with the scopes of the collaborator's role at each
request. It ends with the session that it was opened from, and when the person is removed from the brand.
"""

from operator import attrgetter

from accounts import access, fields
from accounts.store import Connection
from accounts.store.audit import AuditStore
from accounts.store.collaborators import CollaboratorStore
from accounts.store.sessions import SessionStore
from accounts.tokens.scopes import ROLE_SCOPES
from accounts.users import sessions
from chassis.cursor import decode_position, one_page
from chassis.ids import new_id
from chassis.tokens import SESSION_PREFIX, SHOWN_LENGTH, hash_token, make_token
from contracts.accounts import BrandEntered, EnterBrand, ListSharedBrands, SharedBrandList
from contracts.caller import Caller
from contracts.errors import invalid


def list_shared_brands(connection: Connection, caller: Caller, request: ListSharedBrands) -> SharedBrandList:
    """Returns the unarchived brands of other accounts that the caller works on, newest first."""
    access.check_owner(caller)
    limit = fields.limit(request.limit)
    found = CollaboratorStore(connection).brands_of(
        caller.user_id, limit=limit + 1, before=decode_position(request.cursor)
    )
    brands, cursor = one_page(found, limit, attrgetter("created_at", "brand_id"))
    return SharedBrandList(brands=brands, next_cursor=cursor)


def enter_brand(connection: Connection, caller: Caller, request: EnterBrand) -> BrandEntered:
    """Opens a brand session: a session on a brand of another account, on which the caller works as a collaborator. If
    the caller's session has opened one for this brand already, that one gets a new token instead.

    Raises VALIDATION_ERROR for a request with an API token, and NOT_FOUND for a brand that the caller does not work on.
    """
    access.check_owner(caller)
    if not sessions.is_session(caller):
        raise invalid("token", "is an API token: only a person who is signed in can enter a brand")
    brand_id = fields.known_id(request.brand_id)
    if CollaboratorStore(connection).find(brand_id, caller.user_id) is None:
        raise fields.not_found()
    owner_id = access.brand(connection, brand_id, field=None).account_id
    access.lock_account(connection, owner_id)  # as a removal does: it revokes what was begun before it
    collaborator = CollaboratorStore(connection).find(brand_id, caller.user_id)
    if collaborator is None:
        raise fields.not_found()
    store, plain = SessionStore(connection), make_token(SESSION_PREFIX)
    scopes = ROLE_SCOPES[collaborator.role]
    values: dict[str, object] = {
        "token_sha256": hash_token(plain), "prefix": plain[:SHOWN_LENGTH], "scopes": list(scopes)
    }  # fmt: skip
    session = store.enter(caller.token_id, brand_id, **values)
    if session is not None:
        sessions.announce(connection, owner_id, (session.id,))
    else:
        session = store.add_child(
            caller.token_id,
            brand_id,
            session_id=new_id(sessions.ID_PREFIX),
            account_id=owner_id,
            since=collaborator.created_at,
            **values,
        )
        if session is None:
            raise fields.not_found()
        AuditStore(connection).add(
            brand_id=brand_id,
            actor_id=caller.user_id,
            action="collaborator.entered",
            subject_id=session.id,
            details={"role": collaborator.role},
        )
    return BrandEntered(
        session=session,
        session_token=plain,
        brand_id=brand_id,
        role=collaborator.role,
        scopes=scopes,
    )
