"""SQL of endpoint queues: which process holds each queue, which deliveries of a queue are due, and the outcomes of
attempts.

Queues are leased in real time (`clock_timestamp()`), deliveries are due by the clock of business time (`clock_now()`).
The table is called `lanes`.

No statement waits long for a row that another transaction has locked, for example because its process hangs: that would
hold up all other endpoints.
"""

import time
from collections.abc import Collection, Sequence
from typing import Any

import msgspec
from sqlalchemy import Connection, text

from chassis.db.database import Compiled, fetch
from webhooks.records import MAX_CONSECUTIVE_FAILURES, DueDelivery, Endpoint, Outcome, Recorded

#: The answer of an endpoint that wants no further events: its subscription is disabled.
_GONE_STATUS = 410
#: Most secrets that sign a delivery, however often they are rotated within a day: it bounds the header's length.
_SIGNATURES = 8

#: Retries whose time has come. They are few at a time, and found by an index of waiting deliveries only.
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
#: The earliest ready delivery of each subscription, found by one step of the index each: the number of other ready
#: deliveries does not matter, and deliveries that wait for a retry are not in the index. OFFSET 0: each subscription is
#: then found by its key, whatever the planner expects to find due.
_LOOK = Compiled(
    text(
        f"""
        WITH RECURSIVE heads AS (
            (SELECT subscription_id, due_at, asked FROM deliveries WHERE state = 'pending' AND ready
             ORDER BY subscription_id, due_at LIMIT 1)
            UNION ALL
            SELECT next.subscription_id, next.due_at, next.asked FROM heads, LATERAL (
                SELECT subscription_id, due_at, asked FROM deliveries
                WHERE state = 'pending' AND ready AND subscription_id > heads.subscription_id
                ORDER BY subscription_id, due_at LIMIT 1) AS next
        ), wanted AS (
            SELECT subscription_id, min(due_at) AS due_at, bool_or(asked) AS asked FROM (
                SELECT subscription_id, due_at, asked FROM heads WHERE due_at <= (SELECT clock_now())
                UNION ALL SELECT unnest(CAST(:busy AS text[])), NULL, NULL) AS all_wanted GROUP BY 1
        )
        SELECT s.id, due_at IS NOT NULL AS is_due, coalesce(lease_until > clock_timestamp(), false) AS is_held,
            s.deleted_at IS NOT NULL AS is_deleted, s.status = 'active' AS is_active,
            s.status = 'disabled' AND NOT s.ending AND wanted.asked IS FALSE AS has_late,
            s.url, l.enabled_count,
            CASE WHEN lease_until > clock_timestamp() AND s.id <> ALL(:held) THEN '{{}}' ELSE
                ARRAY(SELECT secret FROM secrets x WHERE x.subscription_id = s.id
                    AND (x.expires_at IS NULL OR x.expires_at > (SELECT clock_now()))
                    ORDER BY x.id DESC LIMIT {_SIGNATURES}) END AS secrets
        FROM wanted,
            LATERAL (SELECT * FROM subscriptions WHERE id = wanted.subscription_id OFFSET 0) AS s,
            LATERAL (SELECT * FROM lanes WHERE subscription_id = wanted.subscription_id OFFSET 0) AS l
        ORDER BY due_at
        """
    )
)
_MARK_ENDING = Compiled(
    text(
        """
        UPDATE subscriptions SET ending = true WHERE id IN (
            SELECT id FROM subscriptions WHERE id = ANY(:ids) AND status = 'disabled' FOR NO KEY UPDATE SKIP LOCKED)
        """
    )
)
_TAKE = Compiled(
    text(
        """
        UPDATE lanes SET fence = fence + 1, lease_until = clock_timestamp() + make_interval(secs => :lease)
        WHERE subscription_id IN (
            SELECT subscription_id FROM lanes
            WHERE subscription_id = ANY(:ids) AND (lease_until IS NULL OR lease_until <= clock_timestamp())
            FOR NO KEY UPDATE SKIP LOCKED)
        RETURNING subscription_id, fence, consecutive_failures
        """
    )
)
#: Skips queues whose outcomes another statement is recording: that renews them too, and waiting for them in another
#: order could end in a deadlock.
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
_LOAD = Compiled(
    text(
        """
        SELECT d.subscription_id, d.id, d.event_id, d.event, d.attempts, d.failures, e.body, a.id AS account_id, a.tier,
            d.due_at, e.traceparent, extract(epoch FROM (SELECT clock_now()) - d.created_at)::float8 AS age_seconds,
            extract(epoch FROM (SELECT clock_now()) - d.due_at)::float8 AS overdue_seconds,
            d.charged IS TRUE AS is_charged
        FROM unnest(CAST(:ids AS text[]), CAST(:limits AS integer[])) AS queue (id, room)
        JOIN subscriptions s ON s.id = queue.id JOIN accounts a ON a.id = s.account_id, LATERAL (
            SELECT * FROM deliveries p
            WHERE p.subscription_id = queue.id AND p.state = 'pending' AND p.ready AND p.due_at <= (SELECT clock_now())
                AND (s.status = 'active' OR p.asked) AND s.deleted_at IS NULL AND p.id <> ALL(:loaded)
            ORDER BY p.due_at LIMIT queue.room) AS d
        JOIN events e ON e.id = d.event_id
        ORDER BY d.subscription_id, d.due_at, d.id
        """
    )
)
#: Where rows that are locked cannot be skipped. Shorter than the 1 s after which PostgreSQL looks for deadlocks: other
#: transactions may lock in another order.
_LOCK_TIMEOUT = "set_config('lock_timeout', '200ms', true)"
#: One round trip, and no wait for the disk: outcomes that are not written when a process is killed are repeated, so it
#: must be quick; a commit that a crash of the database loses is only an attempt that is made twice.
#: `fresh` leaves out what was recorded before, by a commit that seemed to fail: failures are counted once. It locks the
#: rows, because that commit may come while this statement waits for `held`, after its snapshot was taken.
#: A delivery that was replayed during the attempt has another `due_at`: there a failure is logged and the replay stays.
#: Failures of attempts that began before the subscription was enabled are logged and not counted.
_RECORD = f"""
    WITH clock AS MATERIALIZED (
        SELECT clock_now() AS now, set_config('synchronous_commit', 'off', true),
            {_LOCK_TIMEOUT}
    ), outcomes AS MATERIALIZED (
        SELECT v.* FROM clock, jsonb_to_recordset(%(outcomes)s::jsonb) AS v (position integer, subscription_id text,
            fence bigint, enabled_count integer, id text, number integer, due_at timestamptz, is_delivered boolean,
            is_counted boolean, is_gone boolean, wait float8, ago float8, duration_ms integer, status_code integer,
            error text, answer text)
    ), held AS MATERIALIZED (
        SELECT l.subscription_id, l.fence, l.consecutive_failures, l.enabled_count,
            (SELECT status = 'active' FROM subscriptions s WHERE s.id = l.subscription_id) AS is_active
        FROM lanes l WHERE (l.subscription_id, l.fence) IN (SELECT subscription_id, fence FROM outcomes)
        ORDER BY l.subscription_id FOR NO KEY UPDATE OF l
    ), fresh AS MATERIALIZED (
        SELECT v.*, v.is_counted AND v.enabled_count = held.enabled_count AS counts
        FROM outcomes v JOIN held USING (subscription_id, fence)
        JOIN deliveries d ON d.subscription_id = v.subscription_id AND d.id = v.id AND d.attempts = v.number - 1
        FOR NO KEY UPDATE OF d
    ), counted AS MATERIALIZED (
        SELECT subscription_id, is_active, delivered.position IS NOT NULL AS has_delivered, is_gone,
            CASE WHEN delivered.position IS NULL THEN consecutive_failures ELSE 0 END + (
                SELECT count(*) FROM fresh v WHERE v.subscription_id = held.subscription_id AND v.counts
                    AND v.position > coalesce(delivered.position, -1)) AS failures
        FROM held, LATERAL (
            SELECT max(position) FILTER (WHERE is_delivered) AS position, bool_or(is_gone AND counts) AS is_gone
            FROM fresh v WHERE v.subscription_id = held.subscription_id) AS delivered
    ), judged AS MATERIALIZED (
        SELECT *, CASE WHEN NOT is_active THEN NULL WHEN is_gone THEN 'gone'
            WHEN failures >= {MAX_CONSECUTIVE_FAILURES} THEN 'consecutive_failures' END AS reason
        FROM counted
    ), queued AS (
        UPDATE lanes l SET consecutive_failures = judged.failures,
            lease_until = clock_timestamp() + make_interval(secs => %(lease)s),
            last_delivery_at = CASE WHEN has_delivered THEN now ELSE l.last_delivery_at END
        FROM judged, clock WHERE l.subscription_id = judged.subscription_id
    ), disabled AS (
        UPDATE subscriptions s SET status = 'disabled', disabled_reason = judged.reason, disabled_at = now,
            ending = true
        FROM judged, clock WHERE s.id = judged.subscription_id AND judged.reason IS NOT NULL AND s.status = 'active'
    ), settled AS (
        UPDATE deliveries d SET attempts = v.number,
            state = CASE WHEN v.is_delivered THEN 'delivered' WHEN d.due_at <> v.due_at THEN d.state
                WHEN v.wait IS NULL OR NOT is_active OR reason IS NOT NULL THEN 'failed' ELSE 'pending' END,
            failures = d.failures + (NOT v.is_delivered AND d.due_at = v.due_at)::integer,
            due_at = CASE WHEN NOT v.is_delivered AND d.due_at <> v.due_at THEN d.due_at
                ELSE now + make_interval(secs => CASE WHEN v.is_delivered THEN 0 ELSE coalesce(v.wait, 0) END) END,
            ready = d.ready AND NOT v.is_delivered AND d.due_at <> v.due_at
        FROM fresh v JOIN judged USING (subscription_id), clock
        WHERE d.subscription_id = v.subscription_id AND d.id = v.id AND d.attempts = v.number - 1
        RETURNING d.id, d.state
    ), logged AS (
        INSERT INTO attempts (delivery_id, number, at, duration_ms, status_code, error, answer)
        SELECT v.id, v.number, date_trunc('milliseconds', now - make_interval(secs => v.ago)), v.duration_ms,
            v.status_code, v.error, v.answer
        FROM fresh v JOIN settled USING (id), clock ON CONFLICT DO NOTHING
    )
    SELECT v.id, v.subscription_id, settled.state, failures, reason, judged.is_active AND reason IS NULL
    FROM outcomes v JOIN held USING (subscription_id, fence) JOIN judged USING (subscription_id)
    LEFT JOIN settled USING (id)
"""
_BACKLOG = text(
    """
    SELECT count(*), extract(epoch FROM clock_now() - min(due_at)) FROM deliveries d
    WHERE state = 'pending' AND ready AND due_at <= (SELECT clock_now()) AND (d.asked OR EXISTS (
        SELECT FROM subscriptions s WHERE s.id = d.subscription_id AND s.status = 'active'))
    """
)
_CHANGE_UNTRIED = f"""
    WITH clock AS MATERIALIZED (SELECT {_LOCK_TIMEOUT})
    UPDATE deliveries d SET {{change}}
    FROM clock, unnest(CAST(:subscription_ids AS text[]), CAST(:ids AS text[])) AS v (subscription_id, id)
    WHERE d.subscription_id = v.subscription_id AND d.id = v.id AND d.attempts = 0
"""
_NOTE_CHARGES = Compiled(text(_CHANGE_UNTRIED.format(change="charged = true")))
_SKIP = Compiled(text(_CHANGE_UNTRIED.format(change="state = 'skipped'") + "AND d.state = 'pending'"))


class EndpointQueues:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def make_ready(self, limit: int) -> int:
        """Marks waiting deliveries whose time has come as ready, the longest due first. Returns how many it marked."""
        return _MAKE_READY.run(self._connection, {"limit": limit}).rowcount

    def look(self, held: dict[str, bool]) -> list[Endpoint]:
        """Returns the endpoints with due deliveries, the longest waiting first. After them come endpoints without due
        deliveries, if this process has loaded deliveries of their queues.

        `held`: the ids of the queues that this process holds, each with whether deliveries of the queue are loaded. If
        another process holds a queue, the endpoint is returned without its secrets.
        """
        busy = [id_ for id_, is_busy in held.items() if is_busy]
        rows = _LOOK.run(self._connection, {"held": list(held), "busy": busy})
        return [Endpoint._make(row)._replace(secrets=tuple(row.secrets)) for row in rows]

    def fail_late(self, subscription_ids: Collection[str]) -> None:
        """Marks disabled subscriptions for the clean-up once more, so that it also fails deliveries that arrived after
        its earlier run.
        """
        _MARK_ENDING.run(self._connection, {"ids": list(subscription_ids)})

    def backlog(self) -> tuple[int, float]:
        """Returns how many deliveries are due, and for how many seconds the oldest has been due."""
        count, seconds = self._connection.execute(_BACKLOG).one()
        return count, float(seconds or 0)

    def take(self, subscription_ids: Collection[str], lease_seconds: float) -> list[tuple[str, int, int]]:
        """Leases the named queues, except queues that another process holds. Returns (subscription id, fence, failures
        in a row) for each leased queue.
        """
        parameters = {"ids": list(subscription_ids), "lease": lease_seconds}
        rows = _TAKE.run(self._connection, parameters)
        return [(row.subscription_id, row.fence, row.consecutive_failures) for row in rows]

    def renew(self, fences: dict[str, int], lease_seconds: float | None) -> set[str]:
        """Renews the leases of these queues (subscription id → fence), or ends them if `lease_seconds` is None. Returns
        the ids of the queues whose lease was still ours.
        """
        parameters = {"ids": list(fences), "fences": list(fences.values()), "lease": lease_seconds}
        return {row[0] for row in _RENEW.run(self._connection, parameters)}

    def load(self, limits: dict[str, int], loaded: Collection[str]) -> list[DueDelivery]:
        """Returns due deliveries of the subscriptions in `limits` (id → how many at most), without those whose ids are
        in `loaded`.
        """
        parameters = {"ids": list(limits), "limits": list(limits.values()), "loaded": list(loaded)}
        rows = _LOAD.run(self._connection, parameters)
        return [DueDelivery._make(row)._replace(body=bytes(row.body)) for row in rows]

    def record(self, outcomes: Sequence[Outcome], lease_seconds: float) -> dict[str, Recorded]:
        """Records outcomes in their order: counts failures, disables subscriptions, and renews the queues' leases.

        Returns delivery id → what its outcome changed. An outcome whose queue another process has leased is missing:
        nothing of it is recorded. Needs no transaction. Raises LockTimeout when another transaction has locked one of
        the rows.
        """
        rows = msgspec.json.encode([_row(position, one) for position, one in enumerate(outcomes)]).decode()
        parameters = {"outcomes": rows, "lease": lease_seconds}
        return {id_: Recorded(*rest) for id_, *rest in fetch(self._connection, _RECORD, parameters)}

    def note_charges(self, due: Sequence[DueDelivery]) -> None:
        """Stores that the units of these deliveries are charged. The quota service forgets a charge after days, but a
        replay may come weeks later and must not be charged again.

        Raises LockTimeout when another transaction has locked a row, and ApiError SERVICE_UNAVAILABLE when the database
        is down.
        """
        _NOTE_CHARGES.fetch(self._connection, _named(due))

    def skip(self, due: Sequence[DueDelivery]) -> None:
        """Marks deliveries as skipped, because no unit of the account's monthly counter is left.

        Raises LockTimeout when another transaction has locked a row, and ApiError SERVICE_UNAVAILABLE when the database
        is down.
        """
        _SKIP.fetch(self._connection, _named(due))


def _named(due: Sequence[DueDelivery]) -> dict[str, Any]:
    return {"subscription_ids": [one.subscription_id for one in due], "ids": [one.id for one in due]}


def _row(position: int, outcome: Outcome) -> dict[str, Any]:
    """Returns an outcome as a JSON object for the statement `_RECORD`. `position`: its number among those recorded
    together.
    """
    is_delivered = outcome.error is None
    return {
        "position": position,
        "subscription_id": outcome.subscription_id,
        "fence": outcome.fence,
        "enabled_count": outcome.enabled_count,
        "id": outcome.delivery_id,
        "number": outcome.number,
        "due_at": outcome.due_at,
        "is_delivered": is_delivered,
        "is_counted": not is_delivered and not outcome.is_local,
        "is_gone": outcome.status_code == _GONE_STATUS,
        "wait": outcome.retry_wait,
        "ago": time.monotonic() - outcome.began_at,
        "duration_ms": round((outcome.answered_at - outcome.began_at) * 1000),
        "status_code": outcome.status_code,
        "error": outcome.error,
        "answer": outcome.answer,
    }
