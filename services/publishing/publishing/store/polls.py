"""SQL of comment polls: which posts' comments are read from the platform, when, and from where in the list.

Claims and waits run in real time (`clock_timestamp()`). A row is made when a post is recorded as published
(`sending.py`), and removed when the post is too old to be polled.
"""

from sqlalchemy import Connection, delete, text

from publishing.models import comment_polls
from publishing.records import Poll

_CLAIM = text(
    """
    UPDATE comment_polls c SET fence = c.fence + 1, wake_at = clock_timestamp() + make_interval(secs => :lease)
    FROM posts p, pages g
    WHERE c.post_id IN (SELECT post_id FROM comment_polls WHERE wake_at <= clock_timestamp()
        ORDER BY wake_at LIMIT :limit FOR UPDATE SKIP LOCKED)
        AND p.id = c.post_id AND g.id = c.page_id
    RETURNING c.*, g.platform, g.subscribed, g.expired,
        extract(epoch FROM clock_now() - p.out_at)::float8 AS age_seconds,
        extract(epoch FROM clock_timestamp() - c.full_at)::float8 AS full_seconds,
        extract(epoch FROM g.rest_until - clock_timestamp())::float8 AS rest_seconds
    """
)
_SAVE = text(
    """
    UPDATE comment_polls SET since = :since, cursor = :cursor, newest = :newest, is_full = :is_full,
        full_at = CASE WHEN :ended_full THEN clock_timestamp() ELSE full_at END,
        wake_at = clock_timestamp() + make_interval(secs => :wait)
    WHERE post_id = :post_id AND fence = :fence
    """
)
_END = text("DELETE FROM comment_polls WHERE post_id = :post_id AND fence = :fence")
_WAKE_PAGE = text(
    "UPDATE comment_polls SET wake_at = least(wake_at, clock_timestamp()) WHERE page_id = :page_id"
)


class Polls:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def claim(self, limit: int, lease_seconds: float) -> list[Poll]:
        """Claims the posts whose comments are due to be read from the platform, the longest waiting first."""
        rows = self._connection.execute(_CLAIM, {"limit": limit, "lease": lease_seconds}).mappings()
        return [Poll.of(row) for row in rows]

    def save(self, poll: Poll, wait_seconds: float, *, ended_full: bool = False) -> bool:
        """Stores the position in the list of comments, and makes the poll due again after `wait_seconds`. Returns False
        when the claim is lost.

        `ended_full`: the whole list has been read.
        """
        values = {
            "post_id": poll.post_id, "fence": poll.fence, "since": poll.since, "cursor": poll.cursor,
            "newest": poll.newest, "is_full": poll.is_full, "ended_full": ended_full, "wait": wait_seconds,
        }  # fmt: skip
        return self._connection.execute(_SAVE, values).rowcount == 1

    def end(self, poll: Poll) -> None:
        """Ends the comment poll of a post: its comments are no longer read."""
        self._connection.execute(_END, {"post_id": poll.post_id, "fence": poll.fence})

    def end_page(self, page_id: str) -> None:
        """Ends the comment polls of all posts of a linked page."""
        self._connection.execute(delete(comment_polls).where(comment_polls.c.page_id == page_id))

    def wake_page(self, page_id: str) -> None:
        """Makes the comment polls of a linked page due at once, because the page works again."""
        self._connection.execute(_WAKE_PAGE, {"page_id": page_id})
