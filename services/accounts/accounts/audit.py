"""The audit log of a brand: changes of its collaborators and their tokens, and actions of the operator."""

import msgspec

from accounts import access, fields
from accounts.store import Connection
from accounts.store.audit import AuditStore
from accounts.store.brands import BrandStore
from chassis.cursor import decode_position, one_page
from contracts.accounts import AuditEntry, AuditLog, ListAudit, RecordAudit
from contracts.caller import Caller, Maker
from contracts.events import Event, HoldEnded, PostsHeld, WebhooksDisabled

#: Entries shown to the operator, newest first; the API has pages.
MAX_ENTRIES = 1_000
#: The actor of automatic consequences, such as posts held after a removal.
SYSTEM = "system"


def list_audit(connection: Connection, caller: Caller, request: ListAudit) -> AuditLog:
    """Returns entries of audit logs, newest first.

    The operator gets the newest entries about the brand that the request names. An owner gets one page of entries. They
    are about the brand that the request names or, if it names none, about all brands of the account.

    Raises NOT_FOUND, naming the field `brand_id`, for an unknown brand. To an owner, a brand of another account is
    unknown. Raises BRAND_NOT_AUTHORIZED for a brand of the account that the token may not use.
    """
    store = AuditStore(connection)
    if caller.is_operator:
        brand = access.brand(connection, request.brand_id or "").brand
        return AuditLog(entries=tuple(store.list_newest_first(brand.id, limit=MAX_ENTRIES)))
    access.check_owner(caller)
    if request.brand_id is not None:
        caller.check_reach(
            access.brand(connection, request.brand_id).account_id, request.brand_id, field="brand_id"
        )
    limit = fields.limit(request.limit)
    found = store.page_of(
        caller.account_id, request.brand_id, limit=limit + 1, before=decode_position(request.cursor)
    )
    entries, cursor = one_page(found, limit)
    return AuditLog(entries=entries, next_cursor=cursor)


def record_audit(connection: Connection, caller: Caller, request: RecordAudit) -> AuditEntry:
    """Adds an entry about an action of the operator, once per operation. The action itself is carried out by another
    service."""
    caller.check_operator()
    access.brand(connection, request.brand_id)
    store = AuditStore(connection)
    act = {
        "brand_id": request.brand_id,
        "action": fields.name("action", request.action),
        "subject_id": fields.name("subject_id", request.subject_id),
    }
    return store.find_by_operation(caller.operation_id, **act) or store.add(
        **act, actor_id=caller.user_id, details=request.details, operation_id=caller.operation_id
    )


def note_posts_held(connection: Connection, event: Event) -> None:
    """Handles the event `posts.held`: records that posts of a brand are held because the person or token that made them
    lost access."""
    held = msgspec.convert(event.data, PostsHeld)
    details: dict[str, object] = {
        "reason": held.reason,
        "count": len(held.post_ids),
        "post_ids": list(held.post_ids),
    }
    _note(connection, event.account_id, (held.brand_id,), "posts.held", held.made_by, details)


def note_hold_ended(connection: Connection, event: Event) -> None:
    """Handles the event `posts.hold.ended`: records who released or cancelled held posts of a brand."""
    ended = msgspec.convert(event.data, HoldEnded)
    details: dict[str, object] = {
        "by_token_id": ended.by.token_id,
        "count": len(ended.post_ids),
        "post_ids": list(ended.post_ids),
    }
    action = f"posts.{ended.outcome}"
    _note(
        connection,
        event.account_id,
        (ended.brand_id,),
        action,
        ended.made_by,
        details,
        actor_id=ended.by.user_id,
    )


def note_of_user(connection: Connection, actor_id: str, user_id: str, action: str) -> None:
    """Records a change of how a person signs in. There is one audit log per brand, so each brand of the person's
    account gets an entry.
    """
    for brand_id in BrandStore(connection).ids_of(user_id, None):
        AuditStore(connection).add(brand_id=brand_id, actor_id=actor_id, action=action, subject_id=user_id)


def note_webhooks_disabled(connection: Connection, event: Event) -> None:
    """Handles the event `webhooks.disabled`: records that subscriptions are disabled because the person or token that
    made them lost access.

    Each brand that the maker's token could use gets an entry. For a token without brand limits, all brands of the
    account get one.
    """
    disabled = msgspec.convert(event.data, WebhooksDisabled)
    details: dict[str, object] = {
        "reason": disabled.reason,
        "webhook_ids": [webhook.id for webhook in disabled.webhooks],
    }
    _note(connection, event.account_id, event.made_within, "webhooks.disabled", disabled.made_by, details)


def _note(
    connection: Connection,
    account_id: str,
    brand_ids: tuple[str, ...] | None,
    action: str,
    maker: Maker,
    details: dict[str, object],
    actor_id: str = SYSTEM,
) -> None:
    """Adds an entry about the posts or subscriptions of `maker` to the audit log of each of these brands, if the brand
    belongs to the account. With `brand_ids` None, adds it to the logs of all brands of the account.
    """
    for brand_id in BrandStore(connection).ids_of(account_id, brand_ids):
        AuditStore(connection).add(
            brand_id=brand_id,
            actor_id=actor_id,
            action=action,
            subject_id=maker.user_id,
            details=details | {"token_id": maker.token_id},
        )
