"""SQL of sending posts: claim, begin, record. Which posts are next is in `page_queues.py`, lapsed claims are in
`reconciliation.py`.

Every claim raises the post's fencing token (`fence`) and names its worker process, whose lease covers the claim
(`chassis.db.leases`). A claim with an older token can neither begin an attempt nor record an outcome. To begin an
attempt or to save a checkpoint, the worker's lease must hold as well. Leases and look-ups run in real time
(`clock_timestamp()`), due times by `clock_now()` in whole milliseconds.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import Connection, text
from sqlalchemy.exc import IntegrityError

from chassis.db.database import UniqueViolation
from chassis.db.leases import held_by
from chassis.telemetry import tracing
from contracts.platforms import DAY_SECONDS, PLATFORMS
from publishing.platforms.base import PlatformRefusal, Refusal
from publishing.records import Expired, Post
from publishing.store.siblings import siblings_of

#: In posts stored before 1.4.0, a checkpoint that an edit removed may be JSON null. A post whose maker has lost access
#: is held instead.
_TAKE = text(
    """
    UPDATE posts SET state = CASE WHEN held_at IS NULL THEN 'sending' ELSE 'held' END, fence = fence + 1,
        out_at = CASE WHEN held_at IS NULL THEN clock_now() ELSE out_at END,
        worker_id = CASE WHEN held_at IS NULL THEN :worker END,
        lease_until = CASE WHEN held_at IS NULL THEN timestamptz 'infinity' END,
        checkpoint = nullif(checkpoint, 'null') - 'answered'
    WHERE id = ANY(:ids) AND state = 'queued' AND out_at <= clock_now() RETURNING *
    """
)
_PUT_OFF = text(
    """
    UPDATE posts p SET out_at = v.out_at FROM unnest(:ids, CAST(:times AS timestamptz[])) AS v(id, out_at)
    WHERE p.id = v.id AND p.state = 'queued'
    """
)
#: A locked row is being claimed or changed: waiting for it could deadlock with a claim.
_PUT_OFF_PAGE = text(
    f"""
    WITH later AS (SELECT clock_now() + make_interval(secs => ceil(:wait * 1000) / 1000) AS at)
    UPDATE posts SET out_at = later.at FROM later
    WHERE id IN (
        SELECT id FROM posts WHERE page_id IN ({siblings_of(":page")}) AND state = 'queued'
            AND out_at < (SELECT at FROM later) FOR NO KEY UPDATE SKIP LOCKED)
    """
)
_FAIL_UNSENT = text(
    """
    UPDATE posts SET state = 'failed', out_at = NULL, refused_at = NULL, error_code = :code, error_message = :message
    WHERE id = ANY(:ids) AND state = 'queued' RETURNING *
    """
)
#: A commit whose answer was lost may still be in progress when its writes are repeated.
_AWAIT = text("SELECT FROM posts WHERE id = ANY(:ids) ORDER BY id FOR NO KEY UPDATE")
#: May be repeated: there is one attempt for a fence. The post's row is locked and not written; a transaction that
#: lapses claims locks it too, and then sees the attempt. `posts.attempts` counts the attempt with its outcome.
_BEGIN = text(
    f"""
    WITH held AS (
        SELECT p.id, p.attempts, p.fence, a.post_id IS NULL AS is_new
        FROM unnest(:ids, CAST(:fences AS bigint[])) AS v(id, fence)
            JOIN posts p ON p.id = v.id AND p.fence = v.fence
            LEFT JOIN attempts a ON a.post_id = v.id AND a.fence = v.fence AND a.outcome IS NULL
        WHERE p.state = 'sending' AND p.held_at IS NULL AND {held_by("p.worker_id")}
        ORDER BY p.id FOR NO KEY UPDATE OF p
    ), written AS (
        INSERT INTO attempts (post_id, number, fence, began_at)
        SELECT id, attempts + 1, fence, clock_timestamp() FROM held WHERE is_new)
    SELECT id FROM held
    """
)
#: Platforms whose comments are polled, from 5 s after publication (`store/polls.py`).
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
            worker_id = NULL,
            attempts = CASE WHEN v.outcome = 'not_begun' THEN p.attempts ELSE coalesce(a.number, p.attempts) END,
            awaited_until = CASE WHEN p.state = 'sending' AND v.state <> 'unknown'
                AND p.awaited_until > clock_timestamp() THEN p.awaited_until END,
            unknown_since = CASE v.state WHEN 'unknown' THEN coalesce(p.unknown_since, clock_timestamp()) END,
            remote_id = CASE v.state WHEN 'published' THEN v.remote_id END,
            permalink = CASE WHEN v.state = 'unknown' THEN coalesce(v.permalink, p.permalink) ELSE v.permalink END,
            checkpoint = CASE WHEN v.state = 'unknown' AND v.remote_id IS NOT NULL
                THEN coalesce(p.checkpoint, '{{}}') || jsonb_build_object('answered', v.remote_id)
                ELSE p.checkpoint END,
            error_code = v.error_code, error_message = v.error_message,
            refused_at = CASE WHEN v.state = 'failed' AND v.outcome IN ('refused', 'not_published')
                THEN clock_now() END,
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
        WHERE a.post_id = v.id AND a.outcome IS NULL AND v.outcome <> 'not_begun'
    ), undone AS (
        DELETE FROM attempts a USING v JOIN recorded r ON r.id = v.id
        WHERE a.post_id = v.id AND a.outcome IS NULL AND v.outcome = 'not_begun'
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
#: Posts whose outcome was stored while the client still waited, but whose client has stopped waiting since.
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
            worker_id = :worker, lease_until = 'infinity', checkpoint = checkpoint - 'answered',
            awaited_until = clock_timestamp() + make_interval(secs => :awaited),
            reports_at_once = EXISTS (SELECT FROM immediate_accounts i WHERE i.account_id = posts.account_id)
        WHERE id = :id AND state = :state RETURNING *
    ), begun AS (
        INSERT INTO attempts (post_id, number, fence, began_at)
        SELECT id, attempts, fence, clock_timestamp() FROM sent)
    SELECT * FROM sent
    """
)
_REPORT_AT_ONCE = text("INSERT INTO immediate_accounts VALUES (:account_id) ON CONFLICT DO NOTHING")


class Claim(NamedTuple):
    """The right to write the outcome of a post. It ends when the post gets a higher fencing token (`fence`)."""

    id: str
    fence: int


class RemoteIdTaken(Exception):
    """Raised when the platform answered with a remote id that another post of the page has."""


@dataclass(frozen=True, slots=True)
class AttemptOutcome:
    """The outcome of an attempt to publish a post, as it is stored."""

    id: str
    fence: int
    #: The post's next state: published, failed, queued (again, after `wait_seconds`) or unknown (to be looked up after
    #: `wait_seconds`).
    state: str
    #: The outcome of the attempt: published, refused, not_published, given_up; not_begun: the attempt is deleted,
    #: because the post's files were not ready; None while it stays open.
    outcome: str | None
    wait_seconds: float = 0.0
    looked_up: bool = False
    #: If the state is unknown: the remote id in the platform's answer, if another post is stored with it.
    remote_id: str | None = None
    permalink: str | None = None
    error_code: str | None = None
    error_message: str | None = None
    #: The traceparent of the attempt: the events of the outcome continue its trace.
    traceparent: str | None = field(default_factory=lambda: tracing.traceparent() or None)
    #: The platform's refusal behind it, for the caller. Not stored.
    refusal: PlatformRefusal | None = None
    #: Set if the refusal has ended the page's connection: the page is marked together with the outcome.
    expired: Expired | None = None

    @property
    def rest_seconds(self) -> float:
        """For how many seconds the platform takes no more posts of the page, a day at most; 0 when it does not say."""
        is_limited = self.refusal is not None and self.refusal.kind is Refusal.RATE_LIMITED
        return min(self.refusal.wait_seconds or 0.0, DAY_SECONDS) if is_limited and self.refusal else 0.0


_STORED = tuple(one.name for one in fields(AttemptOutcome) if one.name not in ("refusal", "expired"))


class Sending:
    """The statements that claim posts, begin attempts and record outcomes."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def take(self, post_ids: Collection[str], worker_id: str) -> list[Post]:
        """Claims queued posts that are due, and returns them. Leaves out posts that were cancelled or moved to a later
        time meanwhile. A post whose maker has lost access is returned too, but in the state held.
        """
        return self._posts(_TAKE, {"ids": list(post_ids), "worker": worker_id})

    def put_off(self, later: dict[str, datetime]) -> None:
        if later:
            self._connection.execute(_PUT_OFF, {"ids": list(later), "times": list(later.values())})

    def put_off_page(self, page_id: str, wait_seconds: float) -> int:
        """Puts off the queued posts of a page until `wait_seconds` from now, unless they are due later anyway. Does the
        same for the posts of the same page in other brands and accounts. Returns how many it put off.
        """
        return self._connection.execute(_PUT_OFF_PAGE, {"page": page_id, "wait": wait_seconds}).rowcount

    def fail_unsent(self, post_ids: Collection[str], code: str, message: str) -> list[Post]:
        if not post_ids:
            return []
        return self._posts(_FAIL_UNSENT, {"ids": list(post_ids), "code": code, "message": message})

    def send_at_once(
        self, post_id: str, state: str, worker_id: str, *, awaited_seconds: float
    ) -> Post | None:
        """Claims a post that is published at once and stores its attempt, so that the platform may be called. Returns
        None unless the post is in `state`.

        `awaited_seconds`: how long the client waits for the outcome.
        """
        values = {"id": post_id, "state": state, "worker": worker_id, "awaited": awaited_seconds}
        found = self._posts(_SEND_AT_ONCE, values)
        return found[0] if found else None

    def report_at_once(self, account_id: str) -> None:
        """Stores that posts which the account publishes at once report their outcome by an event, in addition to the
        answer to the client.
        """
        self._connection.execute(_REPORT_AT_ONCE, {"account_id": account_id})

    def await_earlier(self, post_ids: Collection[str]) -> None:
        """Waits until other transactions that are changing these posts have ended. Then locks the posts until this
        transaction ends."""
        if post_ids:
            self._connection.execute(_AWAIT, {"ids": list(post_ids)})

    def begin(self, claims: Collection[Claim]) -> set[str]:
        """Stores an attempt for each claim that still holds, and returns the posts' ids. Commit before calling the
        platform.

        Stores none for a post whose maker has lost access: that post returns to the queue later, and is held when it is
        claimed again.
        """
        if not claims:
            return set()
        return set(self._connection.execute(_BEGIN, split(claims)).scalars())

    def record(self, outcomes: Sequence[AttemptOutcome]) -> list[Post]:
        """Stores outcomes and returns the changed posts. An outcome whose fencing token is older than its post's
        changes nothing.

        If another post has the same remote id, stores nothing and raises RemoteIdTaken.
        """
        if not outcomes:
            return []
        try:
            rows = [{name: getattr(outcome, name) for name in _STORED} for outcome in outcomes]
            return self._posts(_RECORD, {"rows": msgspec.json.encode(rows).decode()})
        except IntegrityError as error:
            if isinstance(error.orig, UniqueViolation) and error.orig.diag.constraint_name == "posts_remote":
                raise RemoteIdTaken from error
            raise

    def standing(self, outcomes: Sequence[AttemptOutcome]) -> list[Post]:
        """Returns the posts whose outcomes an earlier call of `record` has stored already, under the same fencing
        token."""
        if not outcomes:
            return []
        values = split([Claim(outcome.id, outcome.fence) for outcome in outcomes])
        return self._posts(_STANDING, values | {"states": [outcome.state for outcome in outcomes]})

    def take_late(self, post_ids: Collection[str]) -> list[Post]:
        """Returns those of the posts that need an event after all. Their outcome was stored while the client still
        waited for it, but the client has stopped waiting since. Returns each post only once."""
        return self._posts(_TAKE_LATE, {"ids": list(post_ids)}) if post_ids else []

    def release(self, claims: Collection[Claim]) -> None:
        """Returns the posts of these claims to the queue, except posts whose attempt has begun."""
        if claims:
            self._connection.execute(_RELEASE, split(claims))

    def save_checkpoint(self, claim: Claim, values: dict[str, Any]) -> bool:
        """Stores the checkpoint of a claimed post. Returns False when the claim no longer holds."""
        stored = msgspec.json.encode(values).decode()
        return self._connection.execute(_SAVE_CHECKPOINT, {**claim._asdict(), "values": stored}).rowcount == 1

    def save_media_types(self, claim: Claim, types: list[str]) -> bool:
        """Stores the types of a claimed post's media (photo or video). Returns False when the claim no longer holds."""
        return self._connection.execute(_SAVE_MEDIA_TYPES, {**claim._asdict(), "types": types}).rowcount == 1

    def _posts(self, statement: Any, parameters: dict[str, Any]) -> list[Post]:
        return [Post.of(row) for row in self._connection.execute(statement, parameters).mappings()]


def split(claims: Collection[Claim]) -> dict[str, list[Any]]:
    """Returns the claims as two arrays, post ids and fencing tokens: the parameters `ids` and `fences`."""
    return {"ids": [claim.id for claim in claims], "fences": [claim.fence for claim in claims]}
