"""SQL of the lists of posts.

A list is put together from the first rows of a few index ranges (those of an account and platform, a brand or a page,
each in one state). Its cost depends on how much it shows and on the number of ranges, not on the length of the
history.
"""

from collections.abc import Collection
from datetime import UTC, datetime
from functools import cache
from typing import Any

from sqlalchemy import Connection

from chassis.db.database import Prepared
from contracts.platforms import PLATFORMS
from publishing.records import PENDING, Post, column_names

#: In the order of Post's fields.
_COLUMNS = ", ".join(f"head.{name}" for name in column_names(Post))
_ALL_PLATFORMS = [platform.code for platform in PLATFORMS.values()]
_LAST, _FIRST = datetime.max.replace(tzinfo=UTC), datetime.min.replace(tzinfo=UTC)

#: Index `posts_published_of_account`.
_OF_ACCOUNT = (
    "unnest(CAST(%(platforms)s AS text[])) AS own(platform)",
    "account_id = %(account_id)s AND platform = own.platform",
)
#: Indexes `posts_of_brand` and `posts_of_page` contain planned posts as well, which lie in the future.
_OF_BRANDS = (
    "unnest(CAST(%(brand_ids)s AS text[])) AS own(id)",
    "brand_id = own.id AND out_at <= clock_now()",
)
_OF_PAGE = "(VALUES (%(page_id)s::text)) AS own(id)", "page_id = own.id AND out_at <= clock_now()"
_OF_PAGES = (
    "(SELECT id FROM pages WHERE brand_id = ANY(%(brand_ids)s) AND platform = ANY(%(platforms)s)) AS own",
    "page_id = own.id AND out_at <= clock_now()",
)

#: The condition on the account stands outside: inside, the planner would choose the account's index and read its whole
#: history.
_NEWEST = """
    SELECT {columns} FROM {ranges}, LATERAL (
        SELECT * FROM posts WHERE {of_range} AND state = 'published' AND out_at > %(since)s
            AND (out_at, id) < (%(before_at)s, %(before_id)s) {searched}
        ORDER BY out_at DESC, id DESC LIMIT %(limit)s) head
    WHERE head.account_id = %(account_id)s ORDER BY head.out_at DESC, head.id DESC LIMIT %(limit)s
    """

#: The state is not a parameter, because it selects the partial index.
_SOONEST_OF_STATE = """
    SELECT {columns} FROM {ranges}, LATERAL (
        SELECT * FROM posts WHERE {of_range} AND origin = 'scheduled' AND state = '{state}'
            AND (scheduled_at, id) > (%(after_at)s, %(after_id)s) AND scheduled_at < %(until)s {searched}
        ORDER BY scheduled_at, id LIMIT %(limit)s) head
    WHERE head.account_id = %(account_id)s
    """
_SOONEST_RANGES = {
    "account": ("(VALUES (%(account_id)s::text)) AS own(id)", "account_id = own.id"),
    "page": ("(VALUES (%(page_id)s::text)) AS own(id)", "page_id = own.id"),
    "brands": ("(SELECT id FROM pages WHERE brand_id = ANY(%(brand_ids)s)) AS own", "page_id = own.id"),
    "platform of brands": (
        "(SELECT id FROM pages WHERE brand_id = ANY(%(brand_ids)s) AND platform = %(platform)s) AS own",
        "page_id = own.id",
    ),
    "platform": (
        "(SELECT id FROM pages WHERE account_id = %(account_id)s AND platform = %(platform)s) AS own",
        "page_id = own.id",
    ),
}
#: Reads the texts of the ranges, newest or soonest first, until the list is full.
_SEARCHED = "AND message ILIKE %(pattern)s"


class Lists:
    """Reads lists of posts over an open connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def scheduled(
        self,
        account_id: str,
        *,
        brand_ids: tuple[str, ...] | None,
        page_id: str | None,
        statuses: Collection[str],
        after: tuple[datetime, str] | None,
        limit: int,
        platform: str | None = None,
        until: datetime | None = None,
        search: str | None = None,
    ) -> list[Post]:
        """Returns scheduled posts, soonest first. `after` is the (scheduled_at, id) of the last row of the page
        before.

        The caller has checked that the page `page_id` is within reach and of this platform.
        """
        states = {state for status in statuses for state in (PENDING if status == "queued" else (status,))}
        if page_id is not None:
            ranges = "page"
        elif platform is not None:
            ranges = "platform" if brand_ids is None else "platform of brands"
        else:
            ranges = "account" if brand_ids is None else "brands"
        after_at, after_id = after or (_FIRST, "")
        values = {
            "account_id": account_id,
            "page_id": page_id,
            "brand_ids": list(brand_ids or ()),
            "after_at": after_at,
            "after_id": after_id,
            "until": until or _LAST,
            "platform": platform,
            "pattern": _pattern(search),
            "limit": limit,
        }
        return self._posts(_soonest(ranges, tuple(sorted(states)), search is not None), values)

    def published(
        self,
        account_id: str,
        *,
        brand_ids: tuple[str, ...] | None,
        page_id: str | None,
        platform: str | None,
        since: datetime | None,
        before: tuple[datetime, str] | None,
        limit: int,
        search: str | None = None,
    ) -> list[Post]:
        """Returns published posts, newest first. `before` is the (published_at, id) of the last row of the page
        before.

        The caller has checked that the page `page_id` is within reach and of this platform.
        """
        if page_id is not None:
            ranges = _OF_PAGE
        elif brand_ids is None:
            ranges = _OF_ACCOUNT
        else:
            ranges = _OF_BRANDS if platform is None else _OF_PAGES
        before_at, before_id = before or (_LAST, "")
        values = {
            "account_id": account_id,
            "page_id": page_id,
            "brand_ids": list(brand_ids or ()),
            "platforms": _ALL_PLATFORMS if platform is None else [platform],
            "since": since or _FIRST,
            "before_at": before_at,
            "before_id": before_id,
            "pattern": _pattern(search),
            "limit": limit,
        }
        return self._posts(_newest(ranges, search is not None), values)

    def _posts(self, statement: Prepared, values: dict[str, Any]) -> list[Post]:
        return [Post(*row) for row in statement.fetch(self._connection, values)]


def _pattern(search: str | None) -> str:
    """Returns an ILIKE pattern for texts that contain `search`. Characters of `search` that are wildcards are
    escaped."""
    text = (search or "").replace("\\", r"\\").replace("%", r"\%").replace("_", r"\_")
    return f"%{text}%"


@cache
def _newest(ranges: tuple[str, str], searches: bool) -> Prepared:
    searched = _SEARCHED if searches else ""
    return Prepared(_NEWEST.format(columns=_COLUMNS, ranges=ranges[0], of_range=ranges[1], searched=searched))


@cache
def _soonest(name: str, states: tuple[str, ...], searches: bool) -> Prepared:
    ranges, of_range = _SOONEST_RANGES[name]
    searched = _SEARCHED if searches else ""
    found = " UNION ALL ".join(
        _SOONEST_OF_STATE.format(
            columns=_COLUMNS, ranges=ranges, of_range=of_range, state=state, searched=searched
        )
        for state in states
    )
    return Prepared(f"SELECT * FROM ({found}) AS found ORDER BY scheduled_at, id LIMIT %(limit)s")
