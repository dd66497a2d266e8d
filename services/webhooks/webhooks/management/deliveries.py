"""Shows owners the log of deliveries, sends test events, and repeats deliveries."""

import time

from chassis.cursor import decode_cursor, encode_cursor
from chassis.db import clock
from chassis.ids import is_id, new_id
from contracts import webhooks as api
from contracts.caller import Caller
from contracts.errors import IDEMPOTENCY_KEY_MISMATCH, NOT_FOUND, ApiError, invalid
from contracts.events import Event
from webhooks.context import AppContext
from webhooks.dispatch.dispatcher import DELIVERIES_DUE
from webhooks.events import body_of
from webhooks.management import access
from webhooks.security import signature, standard_headers
from webhooks.store import Connection
from webhooks.store.deliveries import Deliveries
from webhooks.store.subscriptions import Subscriptions

#: Deliveries of a request that are shown: its outcomes come first, before comments.
_MOST_FOUND = 100


def show_list(app: AppContext, caller: Caller, request: api.ListDeliveries) -> api.DeliveryList:
    """Returns one page of the log of deliveries, newest first. Raises NOT_FOUND for a subscription that the caller may
    not see.
    """
    before = None if request.cursor is None else _position(request.cursor)
    with app.database.reading() as connection:
        access.subscription(connection, caller, request.id)
        store = Deliveries(connection)
        found = store.newest(request.id, state=request.status, before=before, limit=request.limit + 1)
        shown = found[: request.limit]
        attempts = store.attempts_of([row.id for row in shown])
    return api.DeliveryList(
        deliveries=tuple(row.view(attempts.get(row.id, ())) for row in shown),
        next_cursor=encode_cursor(shown[-1].id) if len(found) > request.limit else None,
    )


def show(app: AppContext, caller: Caller, request: api.DeliveryPath) -> api.DeliveryContent:
    """Returns a delivery with the body and headers that its receiver gets, signed now with every valid secret. Raises
    NOT_FOUND for a delivery that the caller may not see.
    """
    if not is_id(request.delivery_id):
        raise ApiError(NOT_FOUND)
    with app.database.reading() as connection:
        row = access.subscription(connection, caller, request.id)
        delivery = _view(connection, row.id, request.delivery_id)
        body = Deliveries(connection).body(delivery.event_id)
        stored = Subscriptions(connection).valid_secrets(row.id)
    if body is None:  # events are kept no longer than the log
        raise ApiError(NOT_FOUND)
    secrets = [app.vault.decrypt(secret) for secret in stored]
    headers = {
        "Content-Type": "application/json",
        "X-Svc-Event": delivery.event,
        "X-Svc-Delivery": delivery.id,
        "X-Svc-Attempt": str(len(delivery.attempts) + 1),
        "X-Svc-Signature": signature(secrets, body),
        **standard_headers(secrets, delivery.event_id, int(time.time()), body),  # receivers compare real time
    }
    return api.DeliveryContent.made_from(delivery, body=body.decode(), headers=headers)


def find(app: AppContext, caller: Caller, request: api.FindDeliveries) -> api.FoundDeliveries:
    """Returns deliveries of two kinds: those of events about the posts in the request, and the tests and replays that
    the operations in the request asked for. Only deliveries to subscriptions that the caller may see are returned,
    oldest first, at most a hundred.
    """
    with app.database.reading() as connection:
        visible = Subscriptions(connection).newest(
            caller.account_id, brand_ids=caller.brand_ids, before=None, limit=api.MAX_SUBSCRIPTIONS
        )
        store = Deliveries(connection)
        found = store.find([row.id for row in visible], request.post_ids, request.operation_ids, _MOST_FOUND)
        attempts = store.attempts_of([row.id for _, row in found])
    return api.FoundDeliveries(
        deliveries=tuple(
            api.FoundDelivery.made_from(row.view(attempts.get(row.id, ())), webhook_id=subscription_id)
            for subscription_id, row in found
        )
    )


def send_test(app: AppContext, caller: Caller, request: api.SubscriptionId) -> api.Delivery:
    """Sends a test event to a subscription, even if the subscription is disabled (docs/decisions.md, "Test event").

    Returns the delivery of the test event. A repeated operation sends nothing, and gets the delivery of its first call.
    Raises NOT_FOUND for a subscription that the caller may not see.
    """
    with app.database.transaction() as connection:
        row = access.lock_subscription(connection, caller, request.id)
        store, delivery_id = Deliveries(connection), new_id("dlv")
        repeated_id = _repeated(store, caller, row.id, delivery_id)
        if repeated_id is None:
            event = Event(
                id=new_id("evt"),
                event=api.TEST_EVENT,
                created_at=clock.now(connection),
                account_id=row.account_id,
                data={"userId": row.account_id, "webhookId": row.id},
            )
            store.add_asked(row.id, delivery_id, event, body_of(event), is_sent=row.url != api.LOG_URL)
        delivery = _view(connection, row.id, repeated_id or delivery_id)
    DELIVERIES_DUE.wake()
    return delivery


def replay(app: AppContext, caller: Caller, request: api.ReplayDelivery) -> api.Delivery:
    """Makes a delivery due again, with the whole retry schedule; the numbers of its attempts continue. Returns the
    delivery.

    Raises NOT_FOUND for a delivery that the caller may not see, IDEMPOTENCY_KEY_MISMATCH if this operation has replayed
    another delivery, and VALIDATION_ERROR for a subscription whose deliveries are only logged.
    """
    if not is_id(request.delivery_id):
        raise ApiError(NOT_FOUND)
    with app.database.transaction() as connection:
        row = access.lock_subscription(connection, caller, request.id)
        if row.url == api.LOG_URL:
            raise invalid("id", "Its deliveries are only logged: read this one again from the log")
        store = Deliveries(connection)
        repeated_id = _repeated(store, caller, row.id, request.delivery_id)
        if repeated_id not in (None, request.delivery_id):
            raise ApiError(IDEMPOTENCY_KEY_MISMATCH)
        if repeated_id is None and not store.replay(row.id, request.delivery_id):
            raise ApiError(NOT_FOUND)
        delivery = _view(connection, row.id, request.delivery_id)
    DELIVERIES_DUE.wake()
    return delivery


def _repeated(store: Deliveries, caller: Caller, subscription_id: str, delivery_id: str) -> str | None:
    """Stores which delivery the caller's operation tests or replays. Returns None for the operation's first call. For a
    repeated call returns the id of the delivery of the first call.

    Raises IDEMPOTENCY_KEY_MISMATCH if that delivery is of another subscription.
    """
    if caller.operation_id is None:
        return None
    asked = store.note_ask(caller.operation_id, subscription_id, delivery_id)
    if asked is not None and asked[0] != subscription_id:
        raise ApiError(IDEMPOTENCY_KEY_MISMATCH)
    return asked[1] if asked is not None else None


def _view(connection: Connection, subscription_id: str, delivery_id: str) -> api.Delivery:
    store = Deliveries(connection)
    row = store.get(subscription_id, delivery_id)
    if row is None:
        raise ApiError(NOT_FOUND)
    return row.view(store.attempts_of([delivery_id]).get(delivery_id, ()))


def _position(cursor: str) -> str:
    (delivery_id,) = decode_cursor(cursor, 1)
    if not is_id(delivery_id):
        raise invalid("cursor", "is not a cursor of this list")
    return delivery_id
