"""All SQL of the request log: one line per request, and counts per day."""

from datetime import date, datetime

import msgspec
from sqlalchemy import Connection, bindparam, delete, select, text, tuple_

from chassis.db.database import Prepared
from contracts.record import Record
from gateway.models import request_days as days
from gateway.models import request_log as lines

#: How long the counts of a day are kept: they answer for a year (`GET /account/usage`).
DAYS_KEPT = 400


class Line(Record):
    """A line of the request log as it is written: one request of an account."""

    id: str
    account_id: str
    at: datetime
    token_id: str
    method: str
    #: The path with placeholders, as in the OpenAPI description.
    path: str
    #: The operationId of the endpoint.
    operation: str
    #: The monthly counter that the operation uses; "" for none.
    meter: str
    status: int
    #: The error's code.
    code: str | None
    request_id: str
    duration_ms: int
    #: Whether the answer was that of an earlier request with the same idempotency key.
    replayed: bool
    #: The operation id of a write, under which services store what it made. A replay has that of its first request.
    operation_id: str | None = None


class Found(Record):
    """A line of the request log as lists show it."""

    id: str
    at: datetime
    token_id: str
    method: str
    path: str
    operation: str
    status: int
    code: str | None
    request_id: str
    duration_ms: int
    replayed: bool
    operation_id: str | None = None


class Day(Record):
    """How many requests an account made on one UTC day."""

    day: date
    requests: int
    reads: int
    writes: int
    publishes: int
    replies: int
    refused: int
    failed: int


class Criteria(Record):
    """Filters for a list of lines of the request log. A filter that is None does not apply."""

    token_id: str | None = None
    operation: str | None = None
    method: str | None = None
    status: int | None = None
    code: str | None = None
    request_id: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    #: Only statuses of 400 and more.
    errors_only: bool = False
    #: Only requests with an API token, not those of sessions.
    tokens_only: bool = False


#: The lines and the counts of their days in one statement, so that lines that are written again (after a lost answer)
#: are not counted again. Days are in the order of their key, so that two processes cannot deadlock. Commits
#: asynchronously: a crash of PostgreSQL may lose the last lines.
_ADD = Prepared(
    """
    WITH given AS (
        SELECT id, account_id, date_trunc('milliseconds', at) AS at, token_id, method, path, operation, meter, status,
            code, request_id, duration_ms, replayed, operation_id
        FROM json_to_recordset(%(lines)s::json) AS line (
            id text, account_id text, at timestamptz, token_id text, method text, path text, operation text,
            meter text, status int, code text, request_id text, duration_ms int, replayed bool,
            operation_id text)
        WHERE (SELECT set_config('synchronous_commit', 'off', true)) = 'off'
    ), added AS (
        INSERT INTO request_log (id, account_id, at, token_id, method, path, operation, status, code, request_id,
            duration_ms, replayed, operation_id)
        SELECT id, account_id, at, token_id, method, path, operation, status, code, request_id, duration_ms, replayed,
            operation_id
        FROM given
        ON CONFLICT DO NOTHING
        RETURNING id
    )
    INSERT INTO request_days AS known (account_id, day, requests, reads, writes, publishes, replies, refused, failed)
    SELECT account_id, (at AT TIME ZONE 'UTC')::date AS day, count(*),
        count(*) FILTER (WHERE method = 'GET'),
        count(*) FILTER (WHERE method <> 'GET'),
        count(*) FILTER (WHERE meter = 'publishes' AND status < 400 AND NOT replayed),
        count(*) FILTER (WHERE meter = 'replies' AND status < 400 AND NOT replayed),
        count(*) FILTER (WHERE status BETWEEN 400 AND 499),
        count(*) FILTER (WHERE status >= 500)
    FROM given WHERE id IN (SELECT id FROM added)
    GROUP BY account_id, day ORDER BY account_id, day
    ON CONFLICT (account_id, day) DO UPDATE SET
        requests = known.requests + excluded.requests, reads = known.reads + excluded.reads,
        writes = known.writes + excluded.writes, publishes = known.publishes + excluded.publishes,
        replies = known.replies + excluded.replies, refused = known.refused + excluded.refused,
        failed = known.failed + excluded.failed
    """
)
_FORGET_LINES = delete(lines).where(
    text(
        "ctid IN (SELECT ctid FROM request_log WHERE at <= clock_now() - make_interval(days => :keep_days)"
        " ORDER BY at LIMIT :most FOR UPDATE SKIP LOCKED)"
    )
)
_FORGET_DAYS = delete(days).where(
    days.c.day
    < text("(clock_now() AT TIME ZONE 'UTC')::date - :days_kept").bindparams(
        bindparam("days_kept", DAYS_KEPT)
    )
)
#: Every day to today, with zeros where there was no request.
_DAYS = Prepared(
    """
    SELECT today.day, coalesce(requests, 0), coalesce(reads, 0), coalesce(writes, 0), coalesce(publishes, 0),
        coalesce(replies, 0), coalesce(refused, 0), coalesce(failed, 0)
    FROM (SELECT (clock_now() AT TIME ZONE 'UTC')::date - n AS day FROM generate_series(0, %(days)s::int - 1) AS n)
        AS today
    LEFT JOIN request_days ON request_days.day = today.day AND account_id = %(account_id)s::text
    ORDER BY today.day DESC
    """
)

#: Ids of sessions begin with `ses_`.
_OF_SESSION = r"ses\_%"
_encode = msgspec.json.Encoder().encode
_COLUMNS = [lines.c[name] for name in Found.__struct_fields__]


class RequestLogStore:
    """Reads and writes the request log on an open connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def add(self, batch: list[Line]) -> None:
        """Adds lines, and counts them in their days. A line that was added before is ignored."""
        _ADD.fetch(self._connection, {"lines": _encode(batch).decode()})

    def page(
        self, account_id: str, criteria: Criteria, *, before: tuple[datetime, str] | None, limit: int
    ) -> list[Found]:
        """Returns one page of the account's lines that match the criteria, newest first.

        `before`: time and id of the previous page's last line.
        """
        statement = select(*_COLUMNS).where(lines.c.account_id == account_id)
        for name in ("token_id", "operation", "method", "status", "code", "request_id"):
            wanted = getattr(criteria, name)
            if wanted is not None:
                statement = statement.where(lines.c[name] == wanted)
        if criteria.errors_only:
            statement = statement.where(lines.c.status >= 400)
        if criteria.tokens_only:
            statement = statement.where(lines.c.token_id.not_like(_OF_SESSION))
        if criteria.since is not None:
            statement = statement.where(lines.c.at >= criteria.since)
        if criteria.until is not None:
            statement = statement.where(lines.c.at < criteria.until)
        if before is not None:
            statement = statement.where(tuple_(lines.c.at, lines.c.id) < tuple_(*before))
        statement = statement.order_by(lines.c.at.desc(), lines.c.id.desc()).limit(limit)
        return [Found(**row._mapping) for row in self._connection.execute(statement)]

    def of_request(self, account_id: str, request_id: str, limit: int) -> list[Found]:
        """Returns the account's lines with this request id, newest first: the writes or, if there are none, the reads.

        Writes are found by an index, reads by a search of all the account's lines.
        """
        statement = select(*_COLUMNS).where(
            lines.c.account_id == account_id, lines.c.request_id == request_id
        )
        statement = statement.order_by(lines.c.at.desc(), lines.c.id.desc()).limit(limit)
        for wanted in (statement.where(lines.c.operation_id.is_not(None)), statement):
            found = [Found(**row._mapping) for row in self._connection.execute(wanted)]
            if found:
                return found
        return []

    def days(self, account_id: str, count: int) -> list[Day]:
        """Returns an account's counts of the last `count` days, today first."""
        rows = _DAYS.fetch(self._connection, {"account_id": account_id, "days": count})
        return [Day(**dict(zip(Day.__struct_fields__, row, strict=True))) for row in rows]

    def forget_lines(self, keep_days: int, most: int) -> int:
        """Deletes at most `most` lines older than `keep_days`; returns how many it deleted."""
        return self._connection.execute(_FORGET_LINES, {"keep_days": keep_days, "most": most}).rowcount

    def forget_days(self) -> None:
        """Deletes the counts of days that are no longer shown."""
        self._connection.execute(_FORGET_DAYS)
