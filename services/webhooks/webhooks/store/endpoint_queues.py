"""The sending side: whose lane it is, what is due, what became of it. Statements.

Lanes are leased in real time (`clock_timestamp()`), deliveries are due on the one clock (`clock_now()`).
"""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import Connection, text

from chassis.db.database import Compiled
from webhooks.dispatch.rules import Standing
from webhooks.records import Due, Opened

#: How many secrets sign at most, however often they are rotated within a day. Our choice.
_SIGNATURES = 8

#: Deliveries whose time has come. They are few at a time, and found by an index of those that wait alone.
_MAKE_READY = Compiled(
    text(
        """
        UPDATE deliveries SET ready = true WHERE ctid = ANY(ARRAY(
            SELECT ctid FROM deliveries
            WHERE state = 'pending' AND NOT ready AND due_at <= (SELECT clock_now())
            ORDER BY due_at LIMIT :limit FOR UPDATE SKIP LOCKED))
        """
    )
)
#: The earliest ready delivery of each subscription, found by one step of the index each: what else is ready there, a
#: hundred thousand or none, costs nothing, and what waits for a retry is not in the index. OFFSET 0: each subscription
#: is then found by its key, whatever the planner expects to find due.
_LOOK = Compiled(
    text(
        """
        WITH RECURSIVE heads AS (
            (SELECT subscription_id, due_at, asked FROM deliveries WHERE state = 'pending' AND ready
             ORDER BY subscription_id, due_at LIMIT 1)
            UNION ALL
            SELECT next.subscription_id, next.due_at, next.asked FROM heads, LATERAL (
                SELECT subscription_id, due_at, asked FROM deliveries
                WHERE state = 'pending' AND ready AND subscription_id > heads.subscription_id
                ORDER BY subscription_id, due_at LIMIT 1) AS next
        ), asked AS (
            SELECT subscription_id, min(due_at) AS due_at, bool_or(asked) AS asked FROM (
                SELECT subscription_id, due_at, asked FROM heads WHERE due_at <= (SELECT clock_now())
                UNION ALL SELECT unnest(CAST(:mine AS text[])), NULL, NULL) AS all_asked GROUP BY 1
        )
        SELECT s.id, due_at IS NOT NULL AS is_due, coalesce(lease_until > clock_timestamp(), false) AS is_held,
            s.deleted_at IS NOT NULL AS is_deleted, s.revision,
            s.status = 'disabled' AND NOT s.ending AND asked.asked IS FALSE AS has_late,
            (SELECT count(*) FROM secrets x WHERE x.subscription_id = s.id
                AND (x.expires_at IS NULL OR x.expires_at > (SELECT clock_now()))) AS secret_count
        FROM asked,
            LATERAL (SELECT * FROM subscriptions WHERE id = asked.subscription_id OFFSET 0) AS s,
            LATERAL (SELECT * FROM lanes WHERE subscription_id = asked.subscription_id OFFSET 0) AS l
        ORDER BY due_at
        """
    )
)
_MARK_ENDING = Compiled(
    text("UPDATE subscriptions SET ending = true WHERE id = ANY(:ids) AND status = 'disabled'")
)
_TAKE = Compiled(
    text(
        """
        UPDATE lanes SET fence = fence + 1, outcome_number = 0,
            lease_until = clock_timestamp() + make_interval(secs => :lease)
        WHERE subscription_id IN (
            SELECT subscription_id FROM lanes
            WHERE subscription_id = ANY(:ids) AND (lease_until IS NULL OR lease_until <= clock_timestamp())
            ORDER BY subscription_id FOR NO KEY UPDATE)
        RETURNING subscription_id, fence
        """
    )
)
_OPEN = Compiled(
    text(
        f"""
        SELECT s.id, s.url, s.revision, s.status = 'active' AS is_active, l.consecutive_failures, l.enabled_count,
            x.secrets, x.secret_count
        FROM subscriptions s JOIN lanes l ON l.subscription_id = s.id, LATERAL (
            SELECT (array_agg(secret ORDER BY id DESC))[1:{_SIGNATURES}] AS secrets, count(*) AS secret_count
            FROM secrets
            WHERE subscription_id = s.id AND (expires_at IS NULL OR expires_at > (SELECT clock_now()))) AS x
        WHERE s.id = ANY(:ids) AND s.deleted_at IS NULL
        """
    )
)
#: Lanes that are being written at this moment are renewed by that; to wait for them in another order is a deadlock.
_RENEW = Compiled(
    text(
        """
        WITH mine AS (SELECT * FROM unnest(CAST(:ids AS text[]), CAST(:fences AS bigint[])) AS mine (id, fence)),
        free AS (
            SELECT subscription_id FROM lanes l JOIN mine ON l.subscription_id = mine.id AND l.fence = mine.fence
            FOR NO KEY UPDATE OF l SKIP LOCKED
        ), renewed AS (
            UPDATE lanes l SET lease_until = clock_timestamp() + make_interval(secs => :lease)
            FROM free WHERE l.subscription_id = free.subscription_id)
        SELECT l.subscription_id FROM lanes l JOIN mine ON l.subscription_id = mine.id AND l.fence = mine.fence
        """
    )
)
#: A lane in which something is due stays: nobody else is told of it.
_RELEASE = Compiled(
    text(
        """
        UPDATE lanes l SET lease_until = NULL
        FROM unnest(CAST(:ids AS text[]), CAST(:fences AS bigint[])) AS mine (id, fence)
        WHERE l.subscription_id = mine.id AND l.fence = mine.fence AND (:is_leaving OR NOT EXISTS (
            SELECT FROM deliveries d WHERE d.subscription_id = mine.id AND d.state = 'pending' AND d.ready
                AND d.due_at <= (SELECT clock_now())))
        RETURNING l.subscription_id
        """
    )
)
_LOAD = Compiled(
    text(
        """
        SELECT d.subscription_id, d.id, d.event_id, d.event, d.attempts, d.failures, e.body, a.id AS account_id, a.tier,
            d.due_at, e.traceparent, extract(epoch FROM (SELECT clock_now()) - d.created_at)::float8 AS age_seconds,
            extract(epoch FROM (SELECT clock_now()) - d.due_at)::float8 AS overdue_seconds,
            d.charged IS TRUE AS is_charged
        FROM unnest(CAST(:ids AS text[]), CAST(:limits AS integer[])) AS lane (id, places)
        JOIN subscriptions s ON s.id = lane.id JOIN accounts a ON a.id = s.account_id, LATERAL (
            SELECT * FROM deliveries p
            WHERE p.subscription_id = lane.id AND p.state = 'pending' AND p.ready AND p.due_at <= (SELECT clock_now())
                AND (s.status = 'active' OR p.asked) AND s.deleted_at IS NULL AND p.id <> ALL(:known)
            ORDER BY p.due_at LIMIT lane.places) AS d
        JOIN events e ON e.id = d.event_id
        ORDER BY d.subscription_id, d.due_at, d.id
        """
    )
)
#: One round trip, and no wait for the disk: what has not been written when a process is killed is sent again, so it
#: must be quick; a commit that a crash of the database loses is only an attempt that is made twice.
#: A delivery that was replayed while the attempt was on its way is due at another time than it was: there a failure is
#: logged and leaves the rest to the replay.
#: Outcomes may come here in another order than their answers: one that comes after a newer one, or after the
#: subscription was enabled, is logged and changes neither the count of failures nor the subscription.
_RECORD = """
    WITH clock AS MATERIALIZED (
        SELECT clock_now() AS now, set_config('synchronous_commit', 'off', true)
    ), tried AS MATERIALIZED (
        SELECT * FROM jsonb_to_recordset(%(tried)s::jsonb) AS v (subscription_id text, id text, number integer,
            due_at timestamptz, state text, wait float8, has_failed boolean, ago float8, duration_ms integer,
            status_code integer, error text, answer text)
    ), stood AS MATERIALIZED (
        SELECT * FROM jsonb_to_recordset(%(stood)s::jsonb) AS v (subscription_id text, fence bigint, failures integer,
            outcome_number bigint, enabled_count integer, has_delivered boolean, reason text)
    ), held AS (
        UPDATE lanes l SET
            consecutive_failures = CASE WHEN v.enabled_count = l.enabled_count AND v.outcome_number > l.outcome_number
                THEN v.failures ELSE l.consecutive_failures END,
            outcome_number = greatest(l.outcome_number, v.outcome_number),
            lease_until = clock_timestamp() + make_interval(secs => %(lease)s),
            last_delivery_at = CASE WHEN v.has_delivered THEN now ELSE l.last_delivery_at END
        FROM stood v, clock WHERE l.subscription_id = v.subscription_id AND l.fence = v.fence
        RETURNING l.subscription_id, v.enabled_count = l.enabled_count AS counts
    ), settled AS (
        UPDATE deliveries d SET attempts = v.number,
            state = CASE WHEN v.has_failed AND d.due_at <> v.due_at THEN d.state ELSE v.state END,
            failures = d.failures + (v.has_failed AND d.due_at = v.due_at)::integer,
            due_at = CASE WHEN v.has_failed AND d.due_at <> v.due_at THEN d.due_at
                ELSE now + make_interval(secs => v.wait) END,
            ready = d.ready AND v.has_failed AND d.due_at <> v.due_at
        FROM tried v JOIN held USING (subscription_id), clock
        WHERE d.subscription_id = v.subscription_id AND d.id = v.id AND d.attempts = v.number - 1
        RETURNING d.id
    ), disabled AS (
        UPDATE subscriptions s SET status = 'disabled', disabled_reason = v.reason, ending = true,
            revision = revision + 1
        FROM stood v JOIN held USING (subscription_id)
        WHERE s.id = v.subscription_id AND v.reason IS NOT NULL AND s.status = 'active' AND held.counts
        RETURNING s.id
    ), logged AS (
        INSERT INTO attempts (delivery_id, number, at, duration_ms, status_code, error, answer)
        SELECT v.id, v.number, date_trunc('milliseconds', now - make_interval(secs => v.ago)), v.duration_ms,
            v.status_code, v.error, v.answer
        FROM tried v JOIN settled USING (id), clock ON CONFLICT DO NOTHING
    )
    SELECT subscription_id, EXISTS (SELECT FROM disabled WHERE id = subscription_id) AS is_disabled FROM held
"""
_BACKLOG = text(
    """
    SELECT count(*), extract(epoch FROM clock_now() - min(due_at)) FROM deliveries d
    WHERE state = 'pending' AND ready AND due_at <= (SELECT clock_now()) AND (d.asked OR EXISTS (
        SELECT FROM subscriptions s WHERE s.id = d.subscription_id AND s.status = 'active'))
    """
)
_SKIP = text(
    """
    UPDATE deliveries d SET state = 'skipped'
    FROM unnest(CAST(:ids AS text[]), CAST(:delivery_ids AS text[])) AS v (id, delivery_id)
    WHERE d.subscription_id = v.id AND d.id = v.delivery_id AND d.state = 'pending' AND d.attempts = 0
    """
)
_NOTE_CHARGED = text(
    """
    UPDATE deliveries d SET charged = true
    FROM unnest(CAST(:ids AS text[]), CAST(:delivery_ids AS text[])) AS v (id, delivery_id)
    WHERE d.subscription_id = v.id AND d.id = v.delivery_id AND d.attempts = 0
    """
)


class Looked(NamedTuple):
    """A subscription that has something due, or is asked about."""

    id: str
    is_due: bool
    #: By this process or another.
    is_held: bool
    is_deleted: bool
    #: It is disabled, and something came for it after what had waited was ended.
    has_late: bool
    #: Changes with whatever `Opened` holds.
    version: tuple[int, int]


class Settled(NamedTuple):
    """An attempt to be written down; `ago` seconds have passed since it began."""

    subscription_id: str
    id: str
    number: int
    due_at: datetime
    state: str
    wait: float
    has_failed: bool
    ago: float
    duration_ms: int
    status_code: int | None
    error: str | None
    answer: str | None


class Stood(NamedTuple):
    """How a subscription stands after them."""

    subscription_id: str
    fence: int
    failures: int
    outcome_number: int
    enabled_count: int
    has_delivered: bool
    reason: str | None


class Lanes:
    """Over an open connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def make_ready(self, limit: int) -> int:
        """Marks waiting deliveries whose time has come, the longest due first; returns how many."""
        return _MAKE_READY.run(self._connection, {"limit": limit}).rowcount

    def look(self, mine: Collection[str]) -> list[Looked]:
        """Subscriptions with something due, the longest waiting first, then the rest of `mine`."""
        rows = _LOOK.run(self._connection, {"mine": list(mine)})
        return [
            Looked(
                row.id,
                row.is_due,
                row.is_held,
                row.is_deleted,
                row.has_late,
                (row.revision, row.secret_count),
            )
            for row in rows
        ]

    def fail_late(self, subscription_ids: Collection[str]) -> None:
        """Has the chore look again at what waits for these disabled subscriptions."""
        _MARK_ENDING.run(self._connection, {"ids": list(subscription_ids)})

    def backlog(self) -> tuple[int, float]:
        """Deliveries whose next attempt is due, and for how many seconds the first of them has been."""
        count, seconds = self._connection.execute(_BACKLOG).one()
        return count, float(seconds or 0)

    def take(self, subscription_ids: Collection[str], lease_seconds: float) -> dict[str, int]:
        """The fences of the lanes that were free and are ours now."""
        parameters = {"ids": list(subscription_ids), "lease": lease_seconds}
        return dict(tuple(row) for row in _TAKE.run(self._connection, parameters))

    def open(self, subscription_ids: Collection[str]) -> list[Opened]:
        rows = _OPEN.run(self._connection, {"ids": list(subscription_ids)})
        return [
            Opened(
                id=row.id,
                url=row.url,
                secrets=row.secrets or [],
                standing=Standing(row.is_active, row.consecutive_failures),
                version=(row.revision, row.secret_count),
                enabled_count=row.enabled_count,
            )
            for row in rows
        ]

    def renew(self, fences: dict[str, int], lease_seconds: float) -> set[str]:
        """The lanes that are still ours."""
        parameters = {"ids": list(fences), "fences": list(fences.values()), "lease": lease_seconds}
        return {row[0] for row in _RENEW.run(self._connection, parameters)}

    def release(self, fences: dict[str, int], *, is_leaving: bool = False) -> set[str]:
        """Gives back lanes in which nothing is due, or all of them when the process leaves; those that are back."""
        parameters = {
            "ids": list(fences),
            "fences": list(fences.values()),
            "is_leaving": is_leaving,
        }
        return {row[0] for row in _RELEASE.run(self._connection, parameters)}

    def load(self, limits: dict[str, int], known: Collection[str]) -> list[Due]:
        """Up to so many due deliveries of each subscription, without those that are known."""
        parameters = {"ids": list(limits), "limits": list(limits.values()), "known": list(known)}
        rows = _LOAD.run(self._connection, parameters)
        return [Due._make(row)._replace(body=bytes(row.body)) for row in rows]

    def record(
        self, settled: Sequence[Settled], stood: Sequence[Stood], lease_seconds: float
    ) -> dict[str, bool]:
        """Writes attempts and what they change, and renews their lanes.

        Returns the lanes that this process still holds, with whether the statement disabled the subscription.

        An attempt that was written before, by a commit that seemed to fail, changes nothing. Needs no transaction.
        """
        parameters = {"tried": _json(settled), "stood": _json(stood), "lease": lease_seconds}
        return dict(tuple(row) for row in self._connection.exec_driver_sql(_RECORD, parameters))

    def skip(self, pairs: Sequence[tuple[str, str]]) -> None:
        """These (subscription, delivery) found the month used up."""
        self._connection.execute(_SKIP, _columns(pairs))

    def note_charged(self, pairs: Sequence[tuple[str, str]]) -> None:
        """These (subscription, delivery) have their units, whenever they will be tried."""
        self._connection.execute(_NOTE_CHARGED, _columns(pairs))


def _columns(pairs: Sequence[tuple[str, str]]) -> dict[str, list[str]]:
    return {"ids": [pair[0] for pair in pairs], "delivery_ids": [pair[1] for pair in pairs]}


def _json(rows: Sequence[Any]) -> str:
    return msgspec.json.encode([row._asdict() for row in rows]).decode()
