"""SQL of reconciliation: ends claims, claims posts whose outcome must be looked up, and reads what distinguishes
similar posts.

Look-ups run in real time (`clock_timestamp()`), like leases.
"""

from collections.abc import Collection
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, text

from contracts.errors import PLATFORM_OUTCOME_UNKNOWN
from publishing.records import OpenPost, PageRow, Post
from publishing.store.sending import Claim, split
from publishing.store.siblings import siblings_of

#: Claims that lapse in one transaction: it bounds how long their rows are locked. Our choice.
_BATCH = 500

#: The claims of a worker: all lapse when it is reaped; while it lives, those that it no longer knows.
_OF_WORKER = """
    SELECT id, fence FROM posts
    WHERE state IN ('sending', 'unknown') AND lease_until = 'infinity' AND worker_id = :worker
    """
_CLAIMED = text(_OF_WORKER)
_LOCK_CLAIMED = text(f"{_OF_WORKER} LIMIT :limit FOR UPDATE SKIP LOCKED")
_LOCK_CLAIMS = text(
    """
    SELECT p.id, p.fence FROM posts p JOIN unnest(:ids, CAST(:fences AS bigint[])) AS v(id, fence)
        ON p.id = v.id AND p.fence = v.fence
    WHERE p.state IN ('sending', 'unknown') AND p.lease_until = 'infinity' FOR UPDATE OF p SKIP LOCKED
    """
)
_IS_CLAIMED = text(f"SELECT EXISTS ({_OF_WORKER})")
#: For posts whose rows this transaction has locked: it sees every attempt that was begun, and no other can be begun.
#: Without an open attempt a post returns to the queue; with one its outcome is unknown; a look-up is due again.
_LAPSE = text(
    """
    UPDATE posts p SET fence = p.fence + 1, worker_id = NULL,
        state = CASE WHEN called THEN 'unknown' ELSE 'queued' END,
        attempts = coalesce(number, p.attempts),
        out_at = CASE WHEN called THEN p.out_at ELSE clock_now() END,
        unknown_since = CASE WHEN called THEN coalesce(p.unknown_since, clock_timestamp()) END,
        lease_until = CASE WHEN p.state = 'unknown' THEN clock_timestamp()
            WHEN called THEN clock_timestamp() + make_interval(secs => :first) END
    FROM (
        SELECT l.id, l.state = 'unknown' OR a.post_id IS NOT NULL AS called, a.number
        FROM posts l LEFT JOIN attempts a ON a.post_id = l.id AND a.outcome IS NULL WHERE l.id = ANY(:ids)) AS lapsed
    WHERE p.id = lapsed.id
    """
)
_CLAIM_UNKNOWN = text(
    """
    UPDATE posts p SET fence = fence + 1, worker_id = :worker, lease_until = 'infinity'
    WHERE id IN (SELECT id FROM posts WHERE state = 'unknown' AND lease_until <= clock_timestamp()
        ORDER BY lease_until LIMIT :limit FOR UPDATE SKIP LOCKED)
    RETURNING p.*, extract(epoch FROM clock_timestamp() - unknown_since)::float8 AS unknown_seconds,
        (SELECT began_at FROM attempts a WHERE a.post_id = p.id AND a.outcome IS NULL) AS began_at
    """
)
#: A look-up searches the platform from the post's first attempt on at the earliest, and a post's outcome is known
#: within a day: what was claimed two days before is not found there. Attempts lie within a day, unless a failed post
#: is retried later. The range bounds what is read, whatever the planner thinks of the page.
_OF_OTHERS = text(
    f"""
    SELECT p.remote_id FROM ({siblings_of(":page_id")}) AS sibling JOIN posts p ON p.page_id = sibling.id
    WHERE p.id <> :id AND p.remote_id IS NOT NULL
        AND p.out_at BETWEEN least(:began_at, (SELECT min(began_at) FROM attempts WHERE post_id = :id))
            - interval '2 days' AND clock_now()
    """
)
#: One conclusion at a time for a platform's page: of two look-ups that found the same post, the later sees the other's.
_LOCK_CONCLUSIONS = text("SELECT pg_advisory_xact_lock(hashtextextended(:remote_page, 1))")
_TAKEN = text(
    f"""
    SELECT p.remote_id FROM ({siblings_of(":page_id")}) AS sibling JOIN posts p ON p.page_id = sibling.id
    WHERE p.remote_id = ANY(:remote_ids) AND p.id <> :id
    """
)
#: The page's other posts that may be on the platform although their remote ids are not known. The index
#: `posts_open_of_page` holds only these.
_OPEN_OTHERS = text(
    f"""
    SELECT p.*,
        coalesce((SELECT max(a.began_at) FROM attempts a WHERE a.post_id = p.id) < :began_at, false) AS is_earlier
    FROM ({siblings_of(":page_id")}) AS sibling JOIN posts p ON p.page_id = sibling.id
    WHERE p.id <> :id AND (state IN ('sending', 'unknown')
        OR error_code = '{PLATFORM_OUTCOME_UNKNOWN.code}' AND EXISTS (SELECT FROM attempts a WHERE a.post_id = p.id
            AND a.number = p.attempts AND a.outcome = 'given_up' AND a.ended_at > :began_at))
    """
)
#: For posts that were published before a restore: their first comments may exist as well.
_DOUBT_FIRST_COMMENTS = text(
    """
    UPDATE posts SET comment_state = 'unknown', comment_began_at = :began_at
    WHERE id = ANY(:ids) AND comment_state = 'due'
    """
)


class UnknownOutcome(NamedTuple):
    """A claimed post whose unknown outcome must be looked up. Its times are in real time."""

    post: Post
    unknown_seconds: float
    began_at: datetime


class Reconciliation:
    """The statements that end claims, and those that look-ups of unknown outcomes need."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def lapse_of_worker(self, worker_id: str, first_look_seconds: float) -> tuple[int, bool]:
        """Ends claims of a worker that is gone, one batch of them. Returns how many it ended, and whether none is left.

        If the platform may have been called for a post, the post is looked up there after `first_look_seconds`. If the
        worker was looking it up already, another look-up is due at once.
        """
        count = self._lapse(_LOCK_CLAIMED, first_look_seconds, worker=worker_id, limit=_BATCH)
        return count, not self._connection.execute(_IS_CLAIMED, {"worker": worker_id}).scalar_one()

    def lapse_claims(self, claims: Collection[Claim], first_look_seconds: float) -> int:
        """Ends these claims as `lapse_of_worker` does. Leaves out those that have ended already. Returns how many it
        ended."""
        if not claims:
            return 0
        return self._lapse(_LOCK_CLAIMS, first_look_seconds, **split(claims))

    def claims_of(self, worker_id: str) -> set[Claim]:
        """Returns the committed claims of a worker."""
        return {Claim(*row) for row in self._connection.execute(_CLAIMED, {"worker": worker_id})}

    def claim_unknown(self, limit: int, worker_id: str) -> list[UnknownOutcome]:
        rows = self._connection.execute(_CLAIM_UNKNOWN, {"limit": limit, "worker": worker_id}).mappings()
        return [UnknownOutcome(Post.of(row), row["unknown_seconds"], row["began_at"]) for row in rows]

    def remote_ids_of_others(self, unknown: UnknownOutcome) -> set[str]:
        """Returns the remote ids of the page's other posts, because the look-up may find those posts as well."""
        values = {"page_id": unknown.post.page_id, "id": unknown.post.id, "began_at": unknown.began_at}
        return set(self._connection.execute(_OF_OTHERS, values).scalars())

    def doubt_first_comments(self, post_ids: Collection[str], began_at: datetime) -> None:
        """Marks the due first comments of these posts as unknown, so that they are looked up on the platform before
        they are made. A call since `began_at` may have made them already."""
        self._connection.execute(_DOUBT_FIRST_COMMENTS, {"ids": list(post_ids), "began_at": began_at})

    def lock_conclusions(self, page: PageRow) -> None:
        """Takes a lock until the transaction ends: only one process at a time decides which posts on the page belong to
        which attempts."""
        self._connection.execute(_LOCK_CONCLUSIONS, {"remote_page": page.remote_page})

    def taken(self, post: Post, remote_ids: Collection[str]) -> set[str]:
        """Returns the remote ids among these that other posts of the page have already."""
        values = {"page_id": post.page_id, "id": post.id, "remote_ids": list(remote_ids)}
        return set(self._connection.execute(_TAKEN, values).scalars())

    def open_others(self, unknown: UnknownOutcome) -> list[OpenPost]:
        """Returns the page's other posts that may be on the platform too: their outcome is open, or was given up since
        this attempt began."""
        values = {"page_id": unknown.post.page_id, "id": unknown.post.id, "began_at": unknown.began_at}
        rows = self._connection.execute(_OPEN_OTHERS, values).mappings()
        return [OpenPost(Post.of(row), row["is_earlier"]) for row in rows]

    def _lapse(self, locking: Any, first_look_seconds: float, **values: Any) -> int:
        ids = list(self._connection.execute(locking, values).scalars())
        if ids:
            self._connection.execute(_LAPSE, {"ids": ids, "first": first_look_seconds})
        return len(ids)
