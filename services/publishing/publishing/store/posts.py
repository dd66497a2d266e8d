"""SQL of posts as clients make and change them. Sending them is in `sending.py`, listing them in `lists.py`."""

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import Connection, RowMapping, Text, bindparam, func, select, text, update
from sqlalchemy.dialects.postgresql import ARRAY, insert

from chassis.db.clock import clock_now
from chassis.db.database import Prepared, end_with, fetch
from chassis.db.operations import CLAIM, Effect, Operation
from chassis.ids import is_id
from contracts.caller import Caller, maker_columns
from contracts.platforms import DAY_SECONDS, MIN_SCHEDULE_GAP_SECONDS
from publishing.models import posts
from publishing.records import OUT, PageRow, Post, column_names
from publishing.store.siblings import siblings_of

#: How far around a time other posts count.
_DAY, _GAP = timedelta(seconds=DAY_SECONDS), timedelta(seconds=MIN_SCHEDULE_GAP_SECONDS)

#: The columns of a new post that are given; the others have defaults.
GIVEN = (
    "id", "operation_id", "account_id", "brand_id", "page_id", "platform", "origin", "created_at", "state",
    "scheduled_at", "out_at", "message", "media_ids", "media_urls", "media_files", "first_comment", "settings",
    "traceparent", "maker_user_id", "maker_token_id",
)  # fmt: skip

#: The page if it is the account's, so that no call waits for the locks of another account's brands.
_PAGE = "FROM pages WHERE id = %(page_id)s AND account_id = %(account_id)s"
#: Sent before `_AROUND` in one message, so that `_AROUND` sees what the last holders of the locks committed. Every
#: transaction takes the brand's lock before that of the platform's page, whose name is `PageRow.remote_page`.
_LOCK = f"""
    WITH names AS MATERIALIZED (
        SELECT hashtextextended(brand_id, 0) AS brand,
            hashtextextended(platform || ':' || remote_account_id, 2) AS remote {_PAGE} %s)
    SELECT pg_advisory_xact_lock(brand), pg_advisory_xact_lock(remote) FROM names
    """
_LOCK_QUEUES = Prepared(_LOCK.replace("%s", ""))
#: Locks the page first, so that it is not unlinked meanwhile.
_LOCK_PAGE_AND_QUEUES = Prepared(_LOCK.replace("%s", "FOR KEY SHARE"))
#: A page's posts are among its brand's, so one read of the brand's day finds nearly all of them; the rest are those of
#: siblings in other brands, mostly none.
_AROUND = Prepared(
    f"""
    WITH page AS MATERIALIZED (
        SELECT {", ".join(column_names(PageRow))}, clock_now() AS now, coalesce(%(at)s::timestamptz, clock_now()) AS at
        {_PAGE})
    SELECT operation.*, near.*, page.*
    FROM (SELECT
        (SELECT result FROM operations WHERE id = %(operation_id)s) AS result,
        coalesce((SELECT voided_to_try >= %(try_number)s::int FROM operations WHERE id = %(operation_id)s), false)
            AS is_void
    ) AS operation LEFT JOIN page ON true LEFT JOIN LATERAL (
        SELECT
            array_agg(out_at) FILTER (WHERE is_page) AS page_times,
            array_agg(out_at) FILTER (WHERE is_page AND state = 'queued' AND origin = 'scheduled'
                AND out_at > page.at - %(gap)s::interval AND out_at < page.at + %(gap)s::interval) AS scheduled,
            count(*) FILTER (WHERE is_brand) AS brand_count
        FROM (
            SELECT out_at, state, origin, page_id = page.id AS is_page, true AS is_brand FROM posts
            WHERE brand_id = page.brand_id
                AND out_at > page.at - %(day)s::interval AND out_at < page.at + %(day)s::interval
                AND state = ANY(%(states)s) AND id <> %(without)s
            UNION ALL
            SELECT p.out_at, p.state, p.origin, true, false FROM pages s JOIN posts p ON p.page_id = s.id
            WHERE s.remote_account_id = page.remote_account_id AND s.platform = page.platform
                AND s.brand_id <> page.brand_id
                AND p.out_at > page.at - %(day)s::interval AND p.out_at < page.at + %(day)s::interval
                AND p.state = ANY(%(states)s)) AS those
    ) AS near ON true
    """
)
_ALL_LATER = text(
    f"""
    SELECT
        (SELECT array_agg(out_at) FROM posts WHERE page_id IN ({siblings_of(":page_id")}) AND out_at > :after
            AND state = ANY(:states) AND id <> :without) AS page,
        (SELECT array_agg(out_at) FROM posts WHERE page_id IN ({siblings_of(":page_id")}) AND out_at > :after
            AND state = 'queued' AND origin = 'scheduled' AND id <> :without) AS scheduled,
        (SELECT array_agg(out_at) FROM posts WHERE brand_id = :brand_id AND out_at > :after
            AND state = ANY(:states) AND id <> :without) AS brand
    """
)


# Built once, as composing a statement costs as much as running it.
_POST = tuple(posts.c[name] for name in column_names(Post))
_ONE = select(*_POST).where(posts.c.id == bindparam("id"))
_LOCKED = _ONE.with_for_update()
_OF_OPERATION = select(*_POST).where(posts.c.operation_id == bindparam("operation_id"))
#: Takes the values of `posts.new_post`.
_NEW = insert(posts).values({name: bindparam(name) for name in GIVEN})
_ADD = Prepared(_NEW.returning(*_POST))
_ADD_LAST = Prepared(_NEW)
_JSON = ("media_files", "settings")


#: Each side of the OR has a partial index of its own: the page's history is not read.
_PENDING_OF_PAGE = text(
    """
    SELECT * FROM posts
    WHERE page_id = :page_id AND (state = 'queued' OR state = 'held' OR state IN ('sending', 'unknown'))
    ORDER BY id FOR UPDATE
    """
)
_CANCEL_QUEUED_OF_PAGE = text(
    """
    WITH cancelled AS (
        UPDATE posts SET state = 'cancelled', out_at = NULL
        WHERE page_id = :page_id AND (state = 'queued' OR state = 'held') RETURNING *)
    SELECT * FROM cancelled ORDER BY id
    """
)
_NEXT_MEDIA_REVISIONS = (
    update(posts)
    .where(posts.c.id == func.any(bindparam("ids", type_=ARRAY(Text))))
    .values(media_revision=posts.c.media_revision + 1)
    .returning(posts.c.id, posts.c.media_revision)
)


class Neighbours(NamedTuple):
    """The posts around a time, for the guardrails. `page` has the times of the page's posts. `scheduled` has the times
    of its queued posts that are closer to that time than the minimum gap. `brand_count` is the number of the brand's
    posts."""

    page: list[datetime]
    scheduled: list[datetime]
    brand_count: int


class Surroundings(NamedTuple):
    """What a post is checked against: its page, the time now, and the posts around the requested time."""

    #: Its page as it is now; None: the account has no page with this id.
    page: PageRow | None
    now: datetime
    near: Neighbours


class Plans(NamedTuple):
    """The times of the later posts of a page (`page`) and of its brand (`brand`). `scheduled` has the times of the
    page's queued posts, to which another scheduled post must keep the minimum gap."""

    page: list[datetime]
    scheduled: list[datetime]
    brand: list[datetime]


class Posts:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def get(self, post_id: str) -> Post | None:
        if not is_id(post_id):
            return None
        return self._one(_ONE, {"id": post_id})

    def many(self, post_ids: Collection[str]) -> dict[str, Post]:
        if not post_ids:
            return {}
        return {post.id: post for post in self._all(select(*_POST).where(posts.c.id.in_(post_ids)))}

    def lock(self, post_id: str) -> Post | None:
        """Locks the post until the transaction ends and returns it."""
        return self._one(_LOCKED, {"id": post_id})

    def of_operation(self, operation_id: str | None) -> Post | None:
        """Returns the post that this operation has made, if any."""
        if operation_id is None:
            return None
        return self._one(_OF_OPERATION, {"operation_id": operation_id})

    def has_any_of(self, operation_ids: Collection[str]) -> bool:
        """Whether one of these operations has made a post."""
        statement = select(posts.c.id).where(posts.c.operation_id.in_(operation_ids)).limit(1)
        return self._connection.execute(statement).first() is not None

    def lock_around(
        self,
        page_id: str,
        account_id: str,
        at: datetime | None,
        *,
        effect: Effect | None = None,
        without: str = "",
        is_dry_run: bool = False,
    ) -> Surroundings:
        """Locks the page's brand and the page on the platform until the transaction ends, and reads the posts within a
        day of `at` (None: now), except the post `without`. Includes posts of siblings: the same page on the platform,
        linked in another brand. A dry run takes no lock. A page of another account is neither locked nor read.

        With an `effect`, first locks its operation and the page. Then raises Done if the operation has made another
        post, and IDEMPOTENCY_IN_PROGRESS if its try was voided.

        These locks are taken to schedule a post, to change its time by an edit, to publish at once, and to claim due
        posts. So no two of these calls take the last place under a cap. Other changes of a queued post's time (such as
        a retry) need no lock, because the claim checks the caps again.
        """
        values = {
            "page_id": page_id if is_id(page_id) else None,
            "account_id": account_id,
            "operation_id": effect.caller.operation_id if effect else None,
            "try_number": effect.caller.try_number if effect else 0,
            "result": effect.result if effect else None,
            "without": without,
            "states": _counted(at is not None),
            "at": at,
            "day": _DAY,
            "gap": _GAP,
        }
        locks = [] if is_dry_run else [_LOCK_PAGE_AND_QUEUES if effect else _LOCK_QUEUES]
        if values["operation_id"] is not None:
            locks.insert(0, CLAIM)
        all_at_once = "; ".join(one.on(self._connection) for one in (*locks, _AROUND))
        [row] = fetch(self._connection, all_at_once, values)
        result, is_void, times, scheduled, brand_count, *page, now, _ = row
        if effect:
            Operation(result, is_void).check(effect.result)
        return Surroundings(
            None if now is None else PageRow(*page),
            now,
            Neighbours(times or [], scheduled or [], brand_count),
        )

    def all_later(self, page: PageRow, after: datetime, *, is_scheduled: bool, without: str = "") -> Plans:
        """Returns the times of all posts of the page and its brand after a time, except the post `without`.

        `is_scheduled`: whether the post that needs a time is scheduled; a post published at once keeps no minimum gap.
        """
        values = {"page_id": page.id, "brand_id": page.brand_id, "after": after, "without": without}
        row = self._connection.execute(_ALL_LATER, {**values, "states": _counted(is_scheduled)}).one()
        return Plans(row.page or [], (is_scheduled and row.scheduled) or [], row.brand or [])

    def add(self, values: dict[str, Any]) -> Post:
        """Adds a queued post and returns it. The caller must have locked the post's operation."""
        [row] = _ADD.fetch(self._connection, _as_text(values))
        return Post(*row)

    def add_last(self, values: dict[str, Any]) -> Post:
        """Adds a post like `add`, and commits in the same round trip."""
        end_with(self._connection, _ADD_LAST.on(self._connection), _as_text(values))
        return Post.new(values)

    def change(
        self, post_id: str, values: dict[str, Any], *, states: Collection[str] = ("queued",)
    ) -> Post | None:
        """Changes a post that is in one of `states`; None when it is not."""
        return self._one(
            update(posts)
            .where(posts.c.id == post_id, posts.c.state.in_(states))
            .values(**values)
            .returning(posts)
        )

    def next_media_revisions(self, post_ids: Collection[str]) -> dict[str, int]:
        """Increases each post's media revision for the next event to the media service. Returns post id → new
        revision."""
        rows = self._connection.execute(_NEXT_MEDIA_REVISIONS, {"ids": list(post_ids)})
        return {row.id: row.media_revision for row in rows}

    def cancel(self, post_id: str) -> Post | None:
        """Cancels a queued, held or failed post; None when it is in another state."""
        states = ("queued", "held", "failed")
        return self.change(post_id, {"state": "cancelled", "out_at": None}, states=states)

    def pending_of_page(self, page_id: str) -> list[Post]:
        """Returns the posts of a page that have not ended (queued, held, being sent or looked up), locked until the
        transaction ends."""
        return self._all(_PENDING_OF_PAGE, {"page_id": page_id})

    def cancel_queued_of_page(self, page_id: str) -> list[Post]:
        """Cancels all queued and held posts of a page and returns them."""
        return self._all(_CANCEL_QUEUED_OF_PAGE, {"page_id": page_id})

    def requeue(self, post_id: str, caller: Caller) -> Post | None:
        """Makes a failed post due now and counts its attempts anew. The caller becomes its maker.

        Returns None if the post has not failed.
        """
        return self._one(
            update(posts)
            .where(posts.c.id == post_id, posts.c.state == "failed")
            .values(
                state="queued",
                out_at=clock_now(),
                attempts_before=posts.c.attempts,
                error_code=None,
                error_message=None,
                **taken_over(caller),
            )
            .returning(posts)
        )

    def set_metrics(self, post_id: str, likes: int, comments: int, shares: int) -> None:
        self._connection.execute(
            update(posts).where(posts.c.id == post_id).values(likes=likes, comments=comments, shares=shares)
        )

    def _one(self, statement: Any, parameters: dict[str, Any] | None = None) -> Post | None:
        row: RowMapping | None = self._connection.execute(statement, parameters).mappings().first()
        return Post.of(row) if row else None

    def _all(self, statement: Any, parameters: dict[str, Any] | None = None) -> list[Post]:
        return [Post.of(row) for row in self._connection.execute(statement, parameters).mappings()]


def taken_over(caller: Caller) -> dict[str, Any]:
    """Returns the column values with which the caller queues a post: the caller is its maker, and it is not held."""
    return {**maker_columns(caller), "held_at": None, "hold_reason": None}


def _counted(is_scheduled: bool) -> list[str]:
    """Returns the states of the posts that guardrails count (docs/decisions.md, "Guardrail windows"). For a post
    published at once, these are the posts that were sent, are being sent, or have an unknown outcome. For a scheduled
    post, queued posts count as well."""
    return ["queued", *OUT] if is_scheduled else [*OUT]


def _as_text(values: dict[str, Any]) -> dict[str, Any]:
    return values | {name: _json(values[name]) for name in _JSON}


def _json(value: Any) -> str | None:
    return None if value is None else msgspec.json.encode(value).decode()
