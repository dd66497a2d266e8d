"""Stages events in the transaction of their change, and relays them to the broker.

Only committed events are published, and every committed event is published: its row is deleted only after the broker's
confirm. An event may be sent twice (after a crash between confirm and delete), so receivers have an inbox. Every
replica runs a relay; row locks share the work.
"""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
from sqlalchemy import Connection, delete, insert, select

from chassis.bus import topology
from chassis.bus.link import Link, Message
from chassis.db import clock
from chassis.db.database import Database
from chassis.db.schema import outbox
from chassis.ids import new_id
from chassis.signatures import Signatures
from chassis.telemetry import tracing
from contracts.events import EVENTS, Event, Route
from contracts.record import Record

#: Set in `connection.info` by `stage`, so that the commit wakes the relay.
STAGED = "outbox_staged"
_BATCH = 200


class Staging(NamedTuple):
    """An event to be staged. `event` is a name in contracts.events, `data` the record of that event."""

    event: str
    data: Record
    account_id: str
    brand_id: str | None = None
    #: The cause's traceparent, if the cause is not the current span; "" if the cause was not traced.
    traceparent: str | None = None
    made_within: tuple[str, ...] | None = None
    #: Which subscriptions get the event, as in `Event.audience`.
    audience: str = ""


def stage(
    connection: Connection, event: str, data: Record, *, account_id: str, brand_id: str | None = None
) -> Event:
    """Stages one event in this transaction, and returns it. `event`: its name in contracts.events; `data`: its data."""
    return stage_all(connection, [Staging(event, data, account_id, brand_id)])[0]


def stage_all(connection: Connection, stagings: Sequence[Staging]) -> list[Event]:
    """Stages events in this transaction, in two round trips, and returns them. Raises KeyError for an unknown name."""
    for staging in stagings:
        if staging.event not in EVENTS:
            raise KeyError(f"{staging.event} is not in contracts.events.EVENTS")
    if not stagings:
        return []
    created_at, cause = clock.now(connection), tracing.traceparent()
    causes = [(cause if s.traceparent is None else s.traceparent) or None for s in stagings]
    envelopes = [
        Event(
            id=new_id("evt"),
            event=staging.event,
            created_at=created_at,
            account_id=staging.account_id,
            brand_id=staging.brand_id,
            data=msgspec.to_builtins(staging.data),
            made_within=staging.made_within,
            audience=staging.audience,
        )
        for staging in stagings
    ]
    connection.execute(
        insert(outbox),
        [
            {"event_id": e.id, "event": e.event, "body": msgspec.json.encode(e), "traceparent": traceparent}
            for e, traceparent in zip(envelopes, causes, strict=True)
        ],
    )
    connection.info[STAGED] = True
    return envelopes


def relay_once(database: Database, link: Link, signatures: Signatures, limit: int = _BATCH) -> int:
    """Signs and sends up to `limit` staged events in their order; broadcasts are not signed. Returns how many events
    it sent.

    If the broker does not confirm them, raises NotConfirmed, and the events stay in the outbox.
    """
    with database.transaction() as connection:
        rows = connection.execute(
            select(outbox).order_by(outbox.c.position).limit(limit).with_for_update(skip_locked=True)
        ).all()
        messages = []
        for row in rows:
            route = EVENTS.get(row.event)
            if route is not None and route.broadcast:
                messages.append(
                    Message(
                        topology.BROADCAST_EXCHANGE, "", row.body, message_id=row.event_id, mandatory=False
                    )
                )
            elif route is not None and route.receivers:
                headers = {
                    **(tracing.sending(row.event, row.traceparent, row.created_at) or {}),
                    **signatures.event_headers(route.receivers, row.body),
                }
                messages += [
                    Message(exchange, key, row.body, message_id=row.event_id, headers=headers)
                    for exchange, key in _addresses(row.event, route)
                ]
        link.publish_confirmed(messages)
        if rows:
            connection.execute(delete(outbox).where(outbox.c.position.in_([row.position for row in rows])))
    return len(rows)


def _addresses(event: str, route: Route) -> list[tuple[str, str]]:
    """Returns the exchange and routing key of each message that carries an event to its receivers."""
    if route.straight:
        return [("", topology.event_queue(receiver)) for receiver in route.receivers]
    return [(topology.EVENT_EXCHANGE, event)]
