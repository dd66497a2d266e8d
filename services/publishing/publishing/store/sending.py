"""Sending posts: claim, begin, record. Statements only; what becomes of claims that lapse is `looks.py`.

Every claim raises the post's fence and names its worker process, whose lease is the claim's (`chassis.leases`). Begin
and record name the fence they hold and change nothing without it; begin and what is stored on the way ask as well
whether the worker's lease holds. Leases and look-ups run in real time (`clock_timestamp()`), due times on the one clock
(`clock_now()`), in whole milliseconds.
"""

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import Connection, text

from chassis.leases import held_by
from chassis.telemetry import tracing
from contracts.platforms import PLATFORMS
from publishing.records import OUT, Post

_LOCK_BRANDS = text("SELECT pg_advisory_xact_lock(hashtextextended(b, 0)) FROM unnest(:brands) AS b")
#: Pages on which a scheduled post is on its way. NOT IN: read once, whatever the planner knows about the tables.
_BUSY = "SELECT page_id FROM posts WHERE state = 'sending' AND origin = 'scheduled'"
#: Pages with something due and nothing on its way, the longest waiting first. The row lock makes the lane ours.
_FREE_LANES = text(
    f"""
    SELECT id, brand_id, platform, expired FROM pages WHERE id IN (
        SELECT page_id FROM posts WHERE state = 'queued' AND out_at <= clock_now() AND page_id NOT IN ({_BUSY})
        GROUP BY page_id ORDER BY min(out_at) LIMIT :lanes)
    FOR NO KEY UPDATE SKIP LOCKED
    """
)
#: Asks again whether the lane is free: another worker may have claimed it before the lock was ours.
_DUE = text(
    f"""
    SELECT lane.page_id, due.id, due.out_at FROM unnest(:pages) AS lane(page_id), LATERAL (
        SELECT id, out_at, scheduled_at FROM posts p
        WHERE p.page_id = lane.page_id AND state = 'queued' AND out_at <= clock_now()
        ORDER BY scheduled_at, id LIMIT :per_lane) due
    WHERE lane.page_id NOT IN ({_BUSY}) ORDER BY lane.page_id, due.scheduled_at, due.id
    """
)
_BACKLOG = text(
    """
    SELECT count(*), extract(epoch FROM clock_now() - min(out_at)) FROM posts
    WHERE state = 'queued' AND out_at <= clock_now()
    """
)
_WENT_OUT = text(
    """
    SELECT {column} AS owner, array_agg(out_at) AS times FROM posts
    WHERE {column} = ANY(:owners) AND state = ANY(:out) AND out_at > clock_now() - interval '1 day' GROUP BY 1
    """.replace("{column}", "page_id")
)
_WENT_OUT_OF_BRANDS = text(str(_WENT_OUT).replace("page_id", "brand_id"))
_TAKE = text(
    """
    UPDATE posts SET state = 'sending', fence = fence + 1, out_at = clock_now(), worker_id = :worker,
        lease_until = 'infinity'
    WHERE id = ANY(:ids) AND state = 'queued' AND out_at <= clock_now() RETURNING *
    """
)
_PUT_OFF = text(
    """
    UPDATE posts p SET out_at = v.out_at FROM unnest(:ids, CAST(:times AS timestamptz[])) AS v(id, out_at)
    WHERE p.id = v.id AND p.state = 'queued'
    """
)
_PUT_OFF_PAGE = text(
    """
    UPDATE posts SET out_at = later.at
    FROM (SELECT clock_now() + make_interval(secs => ceil(:wait * 1000) / 1000) AS at) AS later
    WHERE page_id = :page AND state = 'queued' AND out_at < later.at
    """
)
_FAIL_UNSENT = text(
    """
    UPDATE posts SET state = 'failed', out_at = NULL, error_code = :code, error_message = :message
    WHERE id = ANY(:ids) AND state = 'queued' RETURNING *
    """
)
#: What is said again after a commit whose answer was lost may be on its way into the database still.
_AWAIT = text("SELECT FROM posts WHERE id = ANY(:ids) ORDER BY id FOR NO KEY UPDATE")
#: Said again, it holds as before: under one fence there is one attempt. The post's row is locked and not written: what
#: lapses claims locks it as well, and sees the attempt then. `posts.attempts` counts it with its outcome.
_BEGIN = text(
    f"""
    WITH held AS (
        SELECT p.id, p.attempts, p.fence, a.post_id IS NULL AS is_new
        FROM unnest(:ids, CAST(:fences AS bigint[])) AS v(id, fence)
            JOIN posts p ON p.id = v.id AND p.fence = v.fence
            LEFT JOIN attempts a ON a.post_id = v.id AND a.fence = v.fence AND a.outcome IS NULL
        WHERE p.state = 'sending' AND {held_by("p.worker_id")}
        ORDER BY p.id FOR NO KEY UPDATE OF p
    ), written AS (
        INSERT INTO attempts (post_id, number, fence, began_at)
        SELECT id, attempts + 1, fence, clock_timestamp() FROM held WHERE is_new)
    SELECT id FROM held
    """
)
#: Platforms whose comments are asked for, from 5 s (our choice) after a post went out; `store/polls.py`.
_POLLED = ", ".join(f"'{platform.code}'" for platform in PLATFORMS.values() if platform.comments)
_RECORD = text(
    f"""
    WITH v AS (
        SELECT * FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS v(id text, fence bigint, state text, outcome text,
            wait_seconds float8, looked_up boolean, remote_id text, permalink text, error_code text, error_message text,
            traceparent text)
    ), recorded AS (
        UPDATE posts p SET state = v.state,
            out_at = CASE WHEN v.state = 'unknown' OR v.state = 'published' AND v.looked_up THEN p.out_at
                WHEN v.state = 'published' THEN clock_now()
                WHEN v.state = 'queued'
                    THEN clock_now() + make_interval(secs => ceil(v.wait_seconds * 1000) / 1000) END,
            lease_until = CASE v.state WHEN 'unknown'
                THEN clock_timestamp() + make_interval(secs => v.wait_seconds) END,
            worker_id = NULL, attempts = coalesce(a.number, p.attempts),
            awaited_until = CASE WHEN p.state = 'sending' AND v.state <> 'unknown'
                AND p.awaited_until > clock_timestamp() THEN p.awaited_until END,
            unknown_since = CASE v.state WHEN 'unknown' THEN coalesce(p.unknown_since, clock_timestamp()) END,
            remote_id = v.remote_id, permalink = v.permalink,
            error_code = v.error_code, error_message = v.error_message,
            traceparent = coalesce(v.traceparent, p.traceparent),
            comment_state = CASE WHEN v.state = 'published' AND p.first_comment <> '' THEN 'due' END,
            comment_wake_at = CASE WHEN v.state = 'published' AND p.first_comment <> '' THEN clock_timestamp() END
        FROM v LEFT JOIN attempts a ON a.post_id = v.id AND a.outcome IS NULL
        WHERE p.id = v.id AND p.fence = v.fence AND p.state IN ('sending', 'unknown')
        RETURNING p.*
    ), ended AS (
        UPDATE attempts a SET outcome = v.outcome, ended_at = clock_timestamp(),
            error_code = v.error_code, error_message = v.error_message
        FROM v JOIN recorded r ON r.id = v.id
        WHERE a.post_id = v.id AND a.outcome IS NULL AND v.outcome IS NOT NULL
    ), polled AS (
        INSERT INTO comment_polls (post_id, page_id, wake_at)
        SELECT id, page_id, clock_timestamp() + interval '5 seconds' FROM recorded
        WHERE state = 'published' AND platform IN ({_POLLED}) ON CONFLICT DO NOTHING
    )
    SELECT * FROM recorded
    """
)
_STANDING = text(
    """
    SELECT p.* FROM posts p JOIN unnest(:ids, CAST(:fences AS bigint[]), CAST(:states AS text[])) AS v(id, fence, state)
        ON p.id = v.id AND p.fence = v.fence AND p.state = v.state
    """
)
#: Recorded while its client still waited, and answered since without the outcome.
_TAKE_LATE = text(
    """
    UPDATE posts SET awaited_until = NULL
    WHERE id = ANY(:ids) AND awaited_until <= clock_timestamp() AND state IN ('published', 'failed') RETURNING *
    """
)
_RELEASE = text(
    """
    UPDATE posts p SET state = 'queued', fence = p.fence + 1, out_at = clock_now(), lease_until = NULL,
        worker_id = NULL
    FROM unnest(:ids, CAST(:fences AS bigint[])) AS v(id, fence)
    WHERE p.id = v.id AND p.fence = v.fence AND p.state = 'sending'
        AND NOT EXISTS (SELECT FROM attempts a WHERE a.post_id = p.id AND a.outcome IS NULL)
    """
)
_SAVE_CHECKPOINT = text(
    f"""
    UPDATE posts SET checkpoint = CAST(:values AS jsonb)
    WHERE id = :id AND fence = :fence AND state = 'sending' AND {held_by("posts.worker_id")}
    """
)
_SAVE_MEDIA_TYPES = text(
    f"""
    UPDATE posts SET media_types = :types
    WHERE id = :id AND fence = :fence AND state = 'sending' AND {held_by("posts.worker_id")}
    """
)
_SEND_AT_ONCE = text(
    """
    WITH sent AS (
        UPDATE posts SET state = 'sending', out_at = clock_now(), fence = fence + 1, attempts = attempts + 1,
            attempts_before = attempts, error_code = NULL, error_message = NULL,
            worker_id = :worker, lease_until = 'infinity',
            awaited_until = clock_timestamp() + make_interval(secs => :awaited)
        WHERE id = :id AND state = :state RETURNING *
    ), begun AS (
        INSERT INTO attempts (post_id, number, fence, began_at)
        SELECT id, attempts, fence, clock_timestamp() FROM sent)
    SELECT * FROM sent
    """
)


class Claim(NamedTuple):
    """The right to write about a post: void once its fence is higher."""

    id: str
    fence: int


@dataclass(frozen=True, slots=True)
class Recorded:
    """What became of an attempt, as it is written down."""

    id: str
    fence: int
    #: published, failed, queued (again, after `wait_seconds`) or unknown (to be looked at after `wait_seconds`).
    state: str
    #: The attempt's: published, refused, not_published, given_up; None while it stays open.
    outcome: str | None
    wait_seconds: float = 0.0
    looked_up: bool = False
    remote_id: str | None = None
    permalink: str | None = None
    error_code: str | None = None
    error_message: str | None = None
    #: Of the attempt: what the outcome leads to goes on from there.
    traceparent: str | None = field(default_factory=lambda: tracing.traceparent() or None)


class DueLane(NamedTuple):
    """A page with due posts, in the order they go out."""

    page_id: str
    brand_id: str
    platform: str
    expired: bool
    #: (post id, due at)
    due: list[tuple[str, datetime]]


class Sending:
    """The sending side of posts over an open connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def lock_due_lanes(self, lanes: int, per_lane: int) -> list[DueLane]:
        """Free lanes with their due posts, and their brands' locks, until the end of the transaction."""
        pages = {row.id: row for row in self._connection.execute(_FREE_LANES, {"lanes": lanes})}
        if not pages:
            return []
        self._connection.execute(_LOCK_BRANDS, {"brands": sorted({row.brand_id for row in pages.values()})})
        due: dict[str, list[tuple[str, datetime]]] = {}
        for row in self._connection.execute(_DUE, {"pages": list(pages), "per_lane": per_lane}):
            due.setdefault(row.page_id, []).append((row.id, row.out_at))
        return [DueLane(p, pages[p].brand_id, pages[p].platform, pages[p].expired, due[p]) for p in due]

    def went_out_of_pages(self, page_ids: Collection[str]) -> dict[str, list[datetime]]:
        """When posts went out in the last 24 hours, those on their way included, by page."""
        return self._went_out(_WENT_OUT, page_ids)

    def went_out_of_brands(self, brand_ids: Collection[str]) -> dict[str, list[datetime]]:
        return self._went_out(_WENT_OUT_OF_BRANDS, brand_ids)

    def backlog(self) -> tuple[int, float]:
        """Posts that are due and wait to be claimed, and for how many seconds the first of them has."""
        count, seconds = self._connection.execute(_BACKLOG).one()
        return count, float(seconds or 0)

    def take(self, post_ids: Collection[str], worker_id: str) -> list[Post]:
        """Claims queued posts; those that were cancelled or changed meanwhile are left out."""
        return self._posts(_TAKE, {"ids": list(post_ids), "worker": worker_id})

    def put_off(self, later: dict[str, datetime]) -> None:
        if later:
            self._connection.execute(_PUT_OFF, {"ids": list(later), "times": list(later.values())})

    def put_off_page(self, page_id: str, wait_seconds: float) -> int:
        """What is queued on a page goes out so much later at the earliest; how many posts wait for that."""
        return self._connection.execute(_PUT_OFF_PAGE, {"page": page_id, "wait": wait_seconds}).rowcount

    def fail_unsent(self, post_ids: Collection[str], code: str, message: str) -> list[Post]:
        if not post_ids:
            return []
        return self._posts(_FAIL_UNSENT, {"ids": list(post_ids), "code": code, "message": message})

    def send_at_once(
        self, post_id: str, state: str, worker_id: str, *, awaited_seconds: float
    ) -> Post | None:
        """Claims a post in `state` and writes its attempt: the platform may be called. None in another state.

        `awaited_seconds`: for how long its client waits for the outcome.
        """
        values = {"id": post_id, "state": state, "worker": worker_id, "awaited": awaited_seconds}
        found = self._posts(_SEND_AT_ONCE, values)
        return found[0] if found else None

    def await_earlier(self, post_ids: Collection[str]) -> None:
        """Returns when no other transaction changes these posts any more; none will while this one lasts."""
        if post_ids:
            self._connection.execute(_AWAIT, {"ids": list(post_ids)})

    def begin(self, claims: Collection[Claim]) -> set[str]:
        """Sees that each claim that still holds has an attempt; the ids of those. Commit before calling."""
        if not claims:
            return set()
        return set(self._connection.execute(_BEGIN, split(claims)).scalars())

    def record(self, rows: Sequence[Recorded]) -> list[Post]:
        """Writes outcomes; the posts they changed. A row whose fence is passed changes nothing."""
        if not rows:
            return []
        return self._posts(_RECORD, {"rows": msgspec.json.encode([asdict(row) for row in rows]).decode()})

    def standing(self, rows: Sequence[Recorded]) -> list[Post]:
        """Posts whose outcomes are written already, under the same fence: by an earlier try of `record`."""
        if not rows:
            return []
        values = split([Claim(row.id, row.fence) for row in rows])
        return self._posts(_STANDING, values | {"states": [row.state for row in rows]})

    def take_late(self, post_ids: Collection[str]) -> list[Post]:
        """Those of these recorded posts that are to be told of now: nobody has, and their clients wait no longer."""
        return self._posts(_TAKE_LATE, {"ids": list(post_ids)}) if post_ids else []

    def release(self, claims: Collection[Claim]) -> None:
        """Gives claims back that were not called."""
        if claims:
            self._connection.execute(_RELEASE, split(claims))

    def save_checkpoint(self, claim: Claim, values: dict[str, Any]) -> bool:
        """False when the claim no longer holds."""
        stored = msgspec.json.encode(values).decode()
        return self._connection.execute(_SAVE_CHECKPOINT, {**claim._asdict(), "values": stored}).rowcount == 1

    def save_media_types(self, claim: Claim, types: list[str]) -> bool:
        """False when the claim no longer holds."""
        return self._connection.execute(_SAVE_MEDIA_TYPES, {**claim._asdict(), "types": types}).rowcount == 1

    def _went_out(self, statement: Any, owners: Collection[str]) -> dict[str, list[datetime]]:
        rows = self._connection.execute(statement, {"owners": list(owners), "out": list(OUT)})
        return {row.owner: row.times for row in rows}

    def _posts(self, statement: Any, parameters: dict[str, Any]) -> list[Post]:
        return [Post.of(row) for row in self._connection.execute(statement, parameters).mappings()]


def split(claims: Collection[Claim]) -> dict[str, list[Any]]:
    """As two arrays of parameters."""
    return {"ids": [claim.id for claim in claims], "fences": [claim.fence for claim in claims]}
