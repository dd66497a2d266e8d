"""SQL of held posts."""

from collections.abc import Collection
from typing import Any, NamedTuple

from sqlalchemy import Connection, insert, text

from contracts.caller import Caller
from contracts.errors import TOKEN_REVOKED, ApiError
from contracts.events import AccessRevoked
from contracts.publishing import HeldPosts
from publishing.models import post_holds
from publishing.records import Post
from publishing.store.posts import taken_over

#: A call that was in progress when its token was revoked has ended by then: the gateway gives a call to this service
#: at most a minute; ten minutes leave a wide margin.
_WINDOW_SECONDS = 600
#: `made_by` of a call for the posts of all makers.
ANYBODY = "anybody"

_NEXT = text(
    """
    SELECT id, account_id, reason, token_ids,
        extract(epoch FROM clock_timestamp() - created_at)::float8 AS age_seconds
    FROM post_holds WHERE wake_at <= clock_timestamp() ORDER BY wake_at LIMIT 1 FOR UPDATE SKIP LOCKED
    """
)
#: A post that is being sent is marked: it begins no further attempt, and is held when it returns to the queue. No lock
#: is waited for: the next run finds a post that is being claimed or changed now.
_HOLD = text(
    """
    WITH made AS (
        SELECT id FROM posts
        WHERE account_id = :account_id AND origin = 'scheduled' AND state IN ('queued', 'sending', 'unknown')
            AND maker_token_id = ANY(:token_ids) AND (state = 'queued' OR held_at IS NULL)
        LIMIT :limit FOR NO KEY UPDATE SKIP LOCKED)
    UPDATE posts p SET state = CASE p.state WHEN 'queued' THEN 'held' ELSE p.state END,
        held_at = coalesce(p.held_at, clock_now()), hold_reason = coalesce(p.hold_reason, :reason)
    FROM made WHERE p.id = made.id RETURNING p.*
    """
)
_LATER = text(
    "UPDATE post_holds SET wake_at = clock_timestamp() + make_interval(secs => :wait) WHERE id = :id"
)
_END = text("DELETE FROM post_holds WHERE id = :id")
_IS_REVOKED = text(
    "SELECT FROM post_holds WHERE account_id = :account_id AND :token_id = ANY(token_ids) LIMIT 1"
)
#: Posts that can go come first, so that repeated calls come to an end even if others are refused.
_MEANT = text(
    """
    SELECT id, count(*) FILTER (WHERE may_go) OVER () AS able, count(*) OVER () AS total FROM (
        SELECT p.id, p.scheduled_at, NOT page.expired AND page.unlinked_at IS NULL
            AND (:is_late_fine OR p.scheduled_at > clock_now()) AS may_go
        FROM posts p JOIN pages page ON page.id = p.page_id
        WHERE p.account_id = :account_id AND p.origin = 'scheduled' AND p.state = 'held'
            AND p.brand_id = ANY(coalesce(CAST(:brand_ids AS text[]), ARRAY[p.brand_id]))
            AND p.id = ANY(coalesce(CAST(:post_ids AS text[]), ARRAY[p.id]))
            AND (CAST(:made_by AS text) IS NULL OR :made_by IN (p.maker_user_id, p.maker_token_id))) AS meant
    ORDER BY may_go DESC, scheduled_at, id LIMIT :limit
    """
)
#: In the order of ids, in which every transaction locks several posts.
_LOCK = text("SELECT * FROM posts WHERE id = ANY(:ids) AND state = 'held' ORDER BY id FOR UPDATE")
_RELEASE = text(
    """
    UPDATE posts SET state = 'queued', out_at = greatest(scheduled_at, clock_now()), held_at = :held_at,
        hold_reason = :hold_reason, maker_user_id = :maker_user_id, maker_token_id = :maker_token_id
    WHERE id = ANY(:ids)
    """
)
_CANCEL = text("UPDATE posts SET state = 'cancelled', out_at = NULL WHERE id = ANY(:ids) RETURNING *")


class Hold(NamedTuple):
    """A row of `post_holds`: a maker who lost access, with the tokens whose posts are held."""

    id: str
    account_id: str
    reason: str
    token_ids: list[str]
    #: The time since this service received the event.
    age_seconds: float

    @property
    def is_over(self) -> bool:
        """Whether all calls that were in progress when the maker lost access must have ended. After that, no call can
        queue another post for the maker."""
        return self.age_seconds > _WINDOW_SECONDS


class HeldSelection(NamedTuple):
    """The held posts that a call releases or cancels, locked until the transaction ends."""

    posts: list[Post]
    #: How many of all requested posts can be released, and how many there are.
    able_count: int
    total_count: int


class Holds:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def add(self, hold_id: str, account_id: str, revoked: AccessRevoked) -> None:
        """Stores that a maker lost access, so that the maker's queued posts will be held. `hold_id` is the id of the
        event.
        """
        values = {
            "id": hold_id,
            "account_id": account_id,
            "reason": revoked.reason,
            "token_ids": list(revoked.token_ids),
        }
        self._connection.execute(insert(post_holds).values(values))

    def next(self) -> Hold | None:
        """Returns a maker who lost access and whose queued posts are to be held now; None if there is none. The row is
        locked until the transaction ends.
        """
        row = self._connection.execute(_NEXT).first()
        return None if row is None else Hold(*row)

    def hold(self, hold: Hold, limit: int) -> list[Post]:
        """Holds up to `limit` queued posts of the maker who lost access. A post that is being sent or looked up is only
        marked: it is held if it returns to the queue. Returns the changed posts."""
        values = {"account_id": hold.account_id, "reason": hold.reason, "token_ids": hold.token_ids}
        rows = self._connection.execute(_HOLD, {**values, "limit": limit}).mappings()
        return [Post.of(row) for row in rows]

    def look_later(self, hold: Hold, wait_seconds: float) -> None:
        self._connection.execute(_LATER, {"id": hold.id, "wait": wait_seconds})

    def end(self, hold: Hold) -> None:
        self._connection.execute(_END, {"id": hold.id})

    def check_access(self, caller: Caller) -> None:
        """Raises TOKEN_REVOKED if the caller's token was revoked during the call."""
        values = {"account_id": caller.account_id, "token_id": caller.token_id}
        if self._connection.execute(_IS_REVOKED, values).first() is not None:
            raise ApiError(TOKEN_REVOKED)

    def lock(self, caller: Caller, request: HeldPosts, *, is_late_fine: bool, limit: int) -> HeldSelection:
        """Locks up to `limit` of the requested held posts that the caller may access, and returns them ordered by time.
        If there are more than `limit`, posts that can be released come first.

        `is_late_fine`: whether a post whose time has passed can be released.
        """
        values = {
            "account_id": caller.account_id,
            "brand_ids": None if caller.brand_ids is None else list(caller.brand_ids),
            "post_ids": None if request.post_ids is None else list(request.post_ids),
            "made_by": None if request.made_by == ANYBODY else request.made_by,
            "is_late_fine": is_late_fine,
            "limit": limit,
        }
        rows = self._connection.execute(_MEANT, values).all()
        found = self._posts(_LOCK, {"ids": [row.id for row in rows]})
        able, count = (rows[0].able, rows[0].total) if rows else (0, 0)
        return HeldSelection(sorted(found, key=lambda post: (post.scheduled_at, post.id)), able, count)

    def release(self, post_ids: Collection[str], caller: Caller) -> None:
        """Queues held posts again and makes the caller their maker. Each is sent at its time, or now if that has
        passed."""
        self._connection.execute(_RELEASE, {"ids": list(post_ids), **taken_over(caller)})

    def cancel(self, post_ids: Collection[str]) -> list[Post]:
        return self._posts(_CANCEL, {"ids": list(post_ids)})

    def _posts(self, statement: Any, values: dict[str, Any]) -> list[Post]:
        return [Post.of(row) for row in self._connection.execute(statement, values).mappings()]
