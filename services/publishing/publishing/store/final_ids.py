"""SQL of published posts that wait for their final id. Claims and waits run in real time (`clock_timestamp()`)."""

from typing import NamedTuple

from sqlalchemy import Connection, text

from publishing.records import Post

_AWAIT = text(
    """
    INSERT INTO names_awaited (post_id, since, wake_at)
    VALUES (:post_id, clock_timestamp(), clock_timestamp() + make_interval(secs => :wait)) ON CONFLICT DO NOTHING
    """
)
_CLAIM = text(
    """
    UPDATE names_awaited n SET wake_at = clock_timestamp() + make_interval(secs => :lease)
    FROM posts p
    WHERE n.post_id IN (SELECT post_id FROM names_awaited WHERE wake_at <= clock_timestamp()
        ORDER BY wake_at LIMIT :limit FOR UPDATE SKIP LOCKED)
        AND p.id = n.post_id
    RETURNING p.*, extract(epoch FROM clock_timestamp() - n.since)::float8 AS awaited_seconds
    """
)
_PUT_OFF = text(
    "UPDATE names_awaited SET wake_at = clock_timestamp() + make_interval(secs => :wait) WHERE post_id = :post_id"
)
_SAVE = text(
    """
    UPDATE posts SET remote_id = :remote_id, permalink = coalesce(:permalink, permalink)
    WHERE id = :post_id AND state = 'published' AND remote_id = :known_as
    """
)
_END = text("DELETE FROM names_awaited WHERE post_id = :post_id")


class AwaitedId(NamedTuple):
    """A published post without its final id, and how long it has waited for the id."""

    post: Post
    awaited_seconds: float


class FinalIds:
    """Posts that wait for their final id. Claims have no fencing token, because two workers would store the same id."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def wait(self, post_id: str, wait_seconds: float) -> None:
        self._connection.execute(_AWAIT, {"post_id": post_id, "wait": wait_seconds})

    def claim(self, limit: int, lease_seconds: float) -> list[AwaitedId]:
        """Claims posts whose final id is due to be asked for, the longest waiting first."""
        rows = self._connection.execute(_CLAIM, {"limit": limit, "lease": lease_seconds}).mappings()
        return [AwaitedId(Post.of(row), row["awaited_seconds"]) for row in rows]

    def put_off(self, post_id: str, wait_seconds: float) -> None:
        self._connection.execute(_PUT_OFF, {"post_id": post_id, "wait": wait_seconds})

    def save(self, post: Post, remote_id: str, permalink: str | None) -> None:
        """Replaces the post's remote id by the final one, unless the remote id has changed meanwhile."""
        values = {
            "post_id": post.id,
            "remote_id": remote_id,
            "permalink": permalink,
            "known_as": post.remote_id,
        }
        self._connection.execute(_SAVE, values)

    def end(self, post_id: str) -> None:
        """Ends the wait of a post for its final id."""
        self._connection.execute(_END, {"post_id": post_id})
