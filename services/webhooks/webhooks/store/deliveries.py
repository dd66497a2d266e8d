"""SQL of deliveries, their events and the log of their attempts."""

from collections.abc import Collection, Sequence

from sqlalchemy import Connection, select, text, update
from sqlalchemy.dialects.postgresql import insert

from chassis.db.clock import clock_now
from chassis.db.database import Compiled
from chassis.telemetry import tracing
from contracts.events import Event
from contracts.webhooks import Attempt
from webhooks.models import asks, attempts, deliveries, events
from webhooks.records import DeliveryRow

#: A delivery's id, which follows from its event's and its subscription's. Tests have other ids.
_ID = "'dlv_' || substr({event}, 5, 10) || left(md5({event} || {subscription}), 16)"
#: Inserts events, and a delivery of each to every subscription that wants it.
#: Events about a job without a brand, or about a disabled subscription, go only to subscriptions whose maker's token
#: reaches the brands that the event's maker's token reached. Brand ids contain no comma.
_ARRIVE = Compiled(
    text(
        f"""
        WITH new AS MATERIALIZED (
            SELECT * FROM unnest(CAST(:ids AS text[]), CAST(:events AS text[]), CAST(:bodies AS bytea[]),
                CAST(:account_ids AS text[]), CAST(:brand_ids AS text[]), CAST(:withins AS text[]),
                CAST(:traceparents AS text[]), CAST(:post_ids AS text[]), CAST(:audiences AS text[]))
                AS v (id, event, body, account_id, brand_id, within, traceparent, post_id, audience)
        ), receivers AS MATERIALIZED (
            SELECT s.id AS subscription_id, s.url <> 'log:' AS is_sent, new.id, new.event
            FROM new JOIN subscriptions s USING (account_id)
            WHERE s.deleted_at IS NULL AND s.status = 'active' AND new.event = ANY(s.events)
                AND (new.audience = '' OR (new.audience = 'immediate') = s.immediate_posts)
                AND (new.brand_id IS NULL OR s.brand_ids = '{{}}' OR new.brand_id = ANY(s.brand_ids))
                AND (new.brand_id IS NOT NULL OR new.event NOT LIKE 'ai.job.%' AND new.event <> 'webhooks.disabled'
                    OR coalesce(s.made_within, s.brand_ids) = '{{}}'
                    OR string_to_array(new.within, ',') <@ coalesce(s.made_within, s.brand_ids))
        ), kept AS (
            INSERT INTO events (id, event, body, received_at, traceparent, post_id)
            SELECT id, event, body, clock_now(), traceparent, post_id FROM new
            WHERE id IN (SELECT id FROM receivers) ON CONFLICT DO NOTHING
        )
        INSERT INTO deliveries (subscription_id, id, event_id, event, state, due_at, ready, created_at)
        SELECT subscription_id, {_ID.format(event="id", subscription="subscription_id")}, id, event,
            CASE WHEN is_sent THEN 'pending' ELSE 'skipped' END, now, is_sent, now
        FROM receivers, (SELECT clock_now() AS now) AS clock ON CONFLICT DO NOTHING
        """
    )
)
#: The deliveries of the posts' events to these subscriptions, and the tests and replays that the operations asked for.
_FIND = text(
    f"""
    WITH mine AS (SELECT unnest(CAST(:subscription_ids AS text[])) AS id), wanted AS (
        SELECT mine.id AS subscription_id, {_ID.format(event="e.id", subscription="mine.id")} AS id
        FROM events e CROSS JOIN mine WHERE e.post_id = ANY(:post_ids)
        UNION SELECT a.subscription_id, a.delivery_id FROM asks a JOIN mine ON mine.id = a.subscription_id
        WHERE a.operation_id = ANY(:operation_ids))
    SELECT d.subscription_id, {", ".join(f"d.{name}" for name in DeliveryRow.__dataclass_fields__)}
    FROM wanted JOIN deliveries d USING (subscription_id, id) ORDER BY d.id LIMIT :limit
    """
)
_SHOWN = select(*(deliveries.c[name] for name in DeliveryRow.__dataclass_fields__))


class Deliveries:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def arrive(self, new: Sequence[tuple[Event, bytes, str | None]]) -> int:
        """Stores a delivery of each event for every active subscription that asks for such events. Events that no
        subscription asks for are not stored. Returns how many deliveries it stored.

        `new`: event, body to send, and id of the event's post, if it has one.
        """
        parameters = {
            "ids": [event.id for event, _, _ in new],
            "events": [event.event for event, _, _ in new],
            "bodies": [body for _, body, _ in new],
            "account_ids": [event.account_id for event, _, _ in new],
            "brand_ids": [event.brand_id for event, _, _ in new],
            "withins": [",".join(event.made_within or ()) or None for event, _, _ in new],
            "traceparents": [tracing.cause_of(event.id) for event, _, _ in new],
            "audiences": [event.audience for event, _, _ in new],
            "post_ids": [post_id for _, _, post_id in new],
        }
        return _ARRIVE.run(self._connection, parameters).rowcount

    def add_asked(
        self, subscription_id: str, delivery_id: str, event: Event, body: bytes, *, is_sent: bool
    ) -> None:
        """Stores a test event and its delivery to one subscription, which may be disabled.

        With `is_sent` False, the delivery is stored as skipped: it is only in the log.
        """
        self._connection.execute(
            insert(events).values(
                id=event.id, event=event.event, body=body, received_at=clock_now(),
                traceparent=tracing.traceparent() or None,
            )
        )  # fmt: skip
        values = {
            "subscription_id": subscription_id,
            "id": delivery_id,
            "event_id": event.id,
            "event": event.event,
            "state": "pending" if is_sent else "skipped",
            "due_at": clock_now(),
            "ready": is_sent,
            "asked": True,
            "created_at": clock_now(),
        }
        self._connection.execute(insert(deliveries).values(values))

    def replay(self, subscription_id: str, delivery_id: str) -> bool:
        """Makes a delivery due now, with the whole retry schedule. Returns False if the delivery or its event no longer
        exists.
        """
        statement = (
            update(deliveries)
            .where(deliveries.c.subscription_id == subscription_id, deliveries.c.id == delivery_id)
            .where(select(events.c.id).where(events.c.id == deliveries.c.event_id).exists())
            .values(state="pending", due_at=clock_now(), ready=True, failures=0, asked=True)
        )
        return self._connection.execute(statement).rowcount == 1

    def note_ask(self, operation_id: str, subscription_id: str, delivery_id: str) -> tuple[str, str] | None:
        """Stores which delivery an operation tests or replays, and returns None. For a repeated operation returns the
        (subscription id, delivery id) that its first call stored.
        """
        values = {
            "operation_id": operation_id,
            "subscription_id": subscription_id,
            "delivery_id": delivery_id,
            "created_at": clock_now(),
        }
        if self._connection.execute(insert(asks).values(values).on_conflict_do_nothing()).rowcount:
            return None
        statement = select(asks.c.subscription_id, asks.c.delivery_id)
        row = self._connection.execute(statement.where(asks.c.operation_id == operation_id)).one()
        return row.subscription_id, row.delivery_id

    def get(self, subscription_id: str, delivery_id: str) -> DeliveryRow | None:
        statement = _SHOWN.where(
            deliveries.c.subscription_id == subscription_id, deliveries.c.id == delivery_id
        )
        row = self._connection.execute(statement).one_or_none()
        return DeliveryRow(*row) if row is not None else None

    def body(self, event_id: str) -> bytes | None:
        """Returns the body of an event as it is signed and sent; None if the event no longer exists."""
        found: bytes | None = self._connection.execute(
            select(events.c.body).where(events.c.id == event_id)
        ).scalar_one_or_none()
        return bytes(found) if found is not None else None

    def newest(
        self, subscription_id: str, *, state: str | None, before: str | None, limit: int
    ) -> list[DeliveryRow]:
        statement = _SHOWN.where(deliveries.c.subscription_id == subscription_id)
        if state is not None:
            statement = statement.where(deliveries.c.state == state)
        if before is not None:
            statement = statement.where(deliveries.c.id < before)
        rows = self._connection.execute(statement.order_by(deliveries.c.id.desc()).limit(limit))
        return [DeliveryRow(*row) for row in rows]

    def find(
        self,
        subscription_ids: Sequence[str],
        post_ids: Sequence[str],
        operation_ids: Sequence[str],
        limit: int,
    ) -> list[tuple[str, DeliveryRow]]:
        """Returns the deliveries of events about these posts, and the tests and replays that these operations asked
        for. Only deliveries to these subscriptions are returned, oldest first, each as (subscription id, delivery).
        """
        values = {
            "subscription_ids": list(subscription_ids),
            "post_ids": list(post_ids),
            "operation_ids": list(operation_ids),
            "limit": limit,
        }
        rows = self._connection.execute(_FIND, values)
        return [(subscription_id, DeliveryRow(*row)) for subscription_id, *row in rows]

    def attempts_of(self, delivery_ids: Collection[str]) -> dict[str, list[Attempt]]:
        found: dict[str, list[Attempt]] = {}
        statement = select(attempts).where(attempts.c.delivery_id.in_(delivery_ids))
        for row in self._connection.execute(statement.order_by(attempts.c.delivery_id, attempts.c.number)):
            attempt = Attempt.made_from(row)
            found.setdefault(row.delivery_id, []).append(attempt)
        return found
