"""SQL of our replies and first comments, of comments that need no reply, and of how far people have read. How comments
of visitors are received is in `received.py`.
"""

from collections.abc import Collection
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, select, text

from chassis.ids import is_id, new_id
from chassis.telemetry import tracing
from contracts.publishing import PostError
from publishing.models import comment_reads as reads
from publishing.models import comments, replies
from publishing.records import Post, Row

_BEGIN_REPLY = text(
    """
    INSERT INTO replies (id, operation_id, comment_id, post_id, message, state, lease_until, began_at, created_at,
        traceparent)
    VALUES (:id, :operation_id, :comment_id, :post_id, :message, 'sending',
        clock_timestamp() + make_interval(secs => :lease), clock_timestamp(), clock_now(), :traceparent)
    ON CONFLICT (operation_id) DO UPDATE SET state = 'sending', fence = replies.fence + 1, unknown_since = NULL,
        lease_until = excluded.lease_until, began_at = excluded.began_at, created_at = excluded.created_at,
        traceparent = excluded.traceparent
        WHERE replies.state = 'failed'
    RETURNING *, NULL AS unknown_seconds
    """
)
_END_REPLY = text(
    """
    UPDATE replies SET state = :state, remote_id = :remote_id,
        lease_until = CASE WHEN :state = 'unknown' THEN clock_timestamp() + make_interval(secs => :wait) END,
        unknown_since = CASE WHEN :state = 'unknown' THEN coalesce(unknown_since, clock_timestamp()) END
    WHERE id = :id AND fence = :fence AND state IN ('sending', 'unknown') RETURNING *, NULL AS unknown_seconds
    """
)
#: The outcome of a reply whose process died is unknown from the moment its claim lapsed.
_CLAIM_REPLIES = text(
    """
    UPDATE replies r SET state = 'unknown', unknown_since = coalesce(unknown_since, clock_timestamp()),
        fence = fence + 1, lease_until = clock_timestamp() + make_interval(secs => :lease)
    WHERE id IN (SELECT id FROM replies WHERE state IN ('sending', 'unknown') AND lease_until <= clock_timestamp()
        ORDER BY lease_until LIMIT :limit FOR UPDATE SKIP LOCKED)
    RETURNING r.*, extract(epoch FROM clock_timestamp() - unknown_since)::float8 AS unknown_seconds
    """
)
_CLAIM_FIRST = text(
    """
    UPDATE posts p SET comment_fence = comment_fence + 1,
        comment_state = CASE WHEN comment_state = 'due' THEN 'sending' ELSE 'unknown' END,
        comment_attempts = comment_attempts + CASE WHEN comment_state = 'due' THEN 1 ELSE 0 END,
        comment_began_at = CASE WHEN comment_state = 'due' THEN clock_timestamp() ELSE comment_began_at END,
        comment_wake_at = clock_timestamp() + make_interval(secs => :lease)
    WHERE id IN (SELECT id FROM posts WHERE comment_state IN ('due', 'sending', 'unknown')
        AND comment_wake_at <= clock_timestamp() ORDER BY comment_wake_at LIMIT :limit FOR UPDATE SKIP LOCKED)
    RETURNING p.*, extract(epoch FROM clock_timestamp() - comment_began_at)::float8 AS began_seconds
    """
)
_BEGIN_FIRST = text(
    """
    UPDATE posts SET comment_began_at = clock_timestamp(),
        comment_wake_at = clock_timestamp() + make_interval(secs => :lease)
    WHERE id = :id AND comment_fence = :fence AND comment_state = 'sending' AND comment_wake_at > clock_timestamp()
    """
)
#: Each half reads an index of all rows that are being sent, which are few.
_IS_SENDING = text(
    """
    SELECT EXISTS (SELECT FROM posts WHERE page_id = :page_id AND comment_state = 'sending')
        OR EXISTS (SELECT FROM replies r JOIN posts p ON p.id = r.post_id
            WHERE r.state = 'sending' AND p.page_id = :page_id)
    """
)
_END_FIRST = text(
    """
    UPDATE posts SET comment_state = :state,
        comment_wake_at = CASE WHEN :state IN ('due', 'unknown')
            THEN clock_timestamp() + make_interval(secs => :wait) END,
        comment_error_code = :error_code, comment_error_message = :error_message
    WHERE id = :id AND comment_fence = :fence
    """
)


#: In the order of ids, so that two requests of a person never deadlock.
_MARK_READ = text(
    """
    INSERT INTO comment_reads (user_id, brand_id, read_until)
    SELECT :user_id, id, least(CAST(:read_until AS timestamptz), clock_now())
    FROM unnest(CAST(:brand_ids AS text[])) AS brand(id) ORDER BY id
    ON CONFLICT (user_id, brand_id) DO UPDATE
        SET read_until = greatest(comment_reads.read_until, excluded.read_until)
    RETURNING brand_id, read_until
    """
)
_BRANDS = text("SELECT DISTINCT brand_id FROM pages WHERE account_id = :account_id AND unlinked_at IS NULL")


_OWNER = text(
    "SELECT p.account_id, p.brand_id FROM comments c JOIN posts p ON p.id = c.post_id WHERE c.id = :id"
)
_SET_SETTLED = text(
    """
    UPDATE comments SET settled_at = CASE WHEN :is_settled THEN coalesce(settled_at, clock_now()) END
    WHERE id = :id RETURNING settled_at
    """
)
_REPLIES = select(replies, text("NULL AS unknown_seconds"))


class CommentRow(Row):
    """A comment on the platform with the id that we gave it."""

    id: str
    post_id: str
    remote_id: str


class ReplyRow(Row):
    """A row of the table of our replies. `models.replies` explains the columns."""

    id: str
    operation_id: str | None
    comment_id: str
    post_id: str
    message: str
    state: str
    fence: int
    began_at: datetime
    remote_id: str | None
    created_at: datetime
    unknown_seconds: float | None
    traceparent: str | None = None


class Owner(NamedTuple):
    """The account and the brand of the post under which a comment is."""

    account_id: str
    brand_id: str


class FirstComment(NamedTuple):
    """A claimed first comment that must be made or looked up. Its times are in real time."""

    post: Post
    #: The time since the call that may have made the comment.
    began_seconds: float


class Comments:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def get(self, comment_id: str) -> CommentRow | None:
        if not is_id(comment_id):
            return None
        row = self._connection.execute(select(comments).where(comments.c.id == comment_id)).mappings().first()
        return CommentRow.of(row) if row else None

    def owner_of(self, comment_id: str) -> Owner | None:
        if not is_id(comment_id):
            return None
        row = self._connection.execute(_OWNER, {"id": comment_id}).first()
        return Owner(*row) if row else None

    def set_settled(self, comment_id: str, *, is_settled: bool) -> datetime | None:
        """Stores whether a comment needs no reply, and returns since when; None if it may need one."""
        values = {"id": comment_id, "is_settled": is_settled}
        settled_at: datetime | None = self._connection.execute(_SET_SETTLED, values).scalar_one()
        return settled_at

    def is_sending(self, page_id: str) -> bool:
        """Whether a first comment or a reply on the page is being sent."""
        return bool(self._connection.execute(_IS_SENDING, {"page_id": page_id}).scalar_one())

    def get_reply(self, reply_id: str) -> ReplyRow | None:
        return self._reply(_REPLIES.where(replies.c.id == reply_id), {})

    def begin_reply(
        self, comment: CommentRow, message: str, operation_id: str | None, lease_seconds: float
    ) -> ReplyRow | None:
        """Stores a reply that is about to be sent, and returns it. If the same operation stored a reply before and that
        one failed, begins that one again. Returns None if the earlier reply is being sent or looked up, or was made."""
        values = {
            "id": new_id("rpl"),
            "operation_id": operation_id,
            "comment_id": comment.id,
            "post_id": comment.post_id,
            "message": message,
            "lease": lease_seconds,
            "traceparent": tracing.traceparent() or None,
        }
        return self._reply(_BEGIN_REPLY, values)

    def end_reply(
        self, reply: ReplyRow, state: str, *, remote_id: str | None = None, wait_seconds: float = 0.0
    ) -> ReplyRow | None:
        """Stores the outcome of a reply and returns the reply; None when the claim no longer holds.

        `wait_seconds`: for the state unknown, the time until the outcome is looked up.
        """
        values = {
            "id": reply.id,
            "fence": reply.fence,
            "state": state,
            "remote_id": remote_id,
            "wait": wait_seconds,
        }
        return self._reply(_END_REPLY, values)

    def claim_replies(self, limit: int, lease_seconds: float) -> list[ReplyRow]:
        rows = self._connection.execute(_CLAIM_REPLIES, {"limit": limit, "lease": lease_seconds}).mappings()
        return [ReplyRow.of(row) for row in rows]

    def remote_ids_of_replies(self, comment_id: str) -> set[str]:
        """Returns the known remote ids of our replies to a comment."""
        statement = select(replies.c.remote_id).where(
            replies.c.comment_id == comment_id, replies.c.remote_id.is_not(None)
        )
        return {str(remote_id) for remote_id in self._connection.execute(statement).scalars()}

    def claim_first_comments(self, limit: int, lease_seconds: float) -> list[FirstComment]:
        """Claims first comments that are due to be made, and those whose unknown outcome is due to be looked up."""
        rows = self._connection.execute(_CLAIM_FIRST, {"limit": limit, "lease": lease_seconds}).mappings()
        return [FirstComment(Post.of(row), row["began_seconds"]) for row in rows]

    def begin_first_comment(self, post: Post, lease_seconds: float) -> bool:
        """Stores that the call for a first comment begins, and starts its lease anew. Returns False when the claim is
        lost."""
        values = {"id": post.id, "fence": post.comment_fence, "lease": lease_seconds}
        return self._connection.execute(_BEGIN_FIRST, values).rowcount == 1

    def end_first_comment(
        self, post: Post, state: str, wait_seconds: float = 0.0, error: PostError | None = None
    ) -> bool:
        """Stores the next state of a first comment. Returns False when the claim no longer holds. `wait_seconds`: the
        time until the comment is handled again.
        """
        values = {
            "id": post.id,
            "fence": post.comment_fence,
            "state": state,
            "wait": wait_seconds,
            "error_code": error and error.code,
            "error_message": error and error.message,
        }
        return self._connection.execute(_END_FIRST, values).rowcount == 1

    def _reply(self, statement: Any, values: dict[str, Any]) -> ReplyRow | None:
        row = self._connection.execute(statement, values).mappings().first()
        return ReplyRow.of(row) if row else None


class ReadMarks:
    """The read marks: until when each person has read the comments of a brand."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def move(self, user_id: str, brand_ids: Collection[str], read_until: datetime) -> dict[str, datetime]:
        """Moves a person's read marks of these brands forward to `read_until`, but never beyond the present. Returns
        the marks, by brand."""
        values = {"user_id": user_id, "brand_ids": sorted(set(brand_ids)), "read_until": read_until}
        return {row.brand_id: row.read_until for row in self._connection.execute(_MARK_READ, values)}

    def of(self, user_id: str, brand_ids: Collection[str]) -> dict[str, datetime]:
        """Returns a person's read marks of these brands, by brand. A brand that the person never marked is left out."""
        marks = select(reads).where(reads.c.user_id == user_id, reads.c.brand_id.in_(sorted(brand_ids)))
        return {row.brand_id: row.read_until for row in self._connection.execute(marks)} if brand_ids else {}

    def brands_of(self, account_id: str) -> list[str]:
        """Returns the ids of an account's brands with linked pages."""
        return list(self._connection.execute(_BRANDS, {"account_id": account_id}).scalars())
