"""SQL of the lists of posts.

A list merges the first rows of a few index ranges. Each range has the posts of one state that belong to an account and
platform, to a brand or to a page. The cost of a list depends on how much it shows and on the number of ranges, not on
the length of the history.
"""

from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from sqlalchemy import Connection

from chassis.db.database import Prepared
from contracts.platforms import PLATFORMS
from publishing.records import PENDING, Post, column_names

#: The columns of posts, in the order of Post's fields.
_COLUMNS = ", ".join(f"head.{name}" for name in column_names(Post))
#: No post has a smaller id.
_FIRST_ID = "pst_" + 26 * "0"
#: The smallest difference between two times of PostgreSQL.
_TICK = timedelta(microseconds=1)
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
#: Indexes `posts_commented_of_account` and `posts_commented_of_page`.
_COMMENTED = """
    SELECT {columns} FROM {ranges}, LATERAL (
        SELECT * FROM posts WHERE {of_range} AND commented_at IS NOT NULL
            AND (commented_at, id) < (%(before_at)s, %(before_id)s)
        ORDER BY commented_at DESC, id DESC LIMIT %(limit)s) head
    WHERE head.account_id = %(account_id)s ORDER BY head.commented_at DESC, head.id DESC LIMIT %(limit)s
    """
#: The place at which a search stops: where it has read `_EACH` posts of one of its ranges. It is a time without an id:
#: the indexes of pages and brands have no id, for which each of these posts would be read twice.
_NEWEST_END = """
    SELECT last.out_at FROM {ranges}, LATERAL (
        SELECT out_at FROM posts
        WHERE {of_range} AND state = 'published' AND out_at > %(since)s AND out_at <= %(newest_at)s
        ORDER BY out_at DESC OFFSET {each} LIMIT 1) last
    ORDER BY last.out_at DESC LIMIT 1
    """

#: The state is not a parameter, because it selects the partial index.
_SOONEST_OF_STATE = """
    SELECT {columns} FROM {ranges}, LATERAL (
        SELECT * FROM posts WHERE {of_range} AND origin = 'scheduled' AND state = '{state}'
            AND (scheduled_at, id) > (%(after_at)s, %(after_id)s) AND scheduled_at < %(until)s {searched}
        ORDER BY scheduled_at, id LIMIT %(limit)s) head
    WHERE head.account_id = %(account_id)s
    """
_SOONEST_END_OF_STATE = """
    SELECT last.scheduled_at, last.id FROM {ranges}, LATERAL (
        SELECT scheduled_at, id FROM posts WHERE {of_range} AND origin = 'scheduled' AND state = '{state}'
            AND (scheduled_at, id) > (%(after_at)s, %(after_id)s) AND scheduled_at < %(until)s
        ORDER BY scheduled_at, id OFFSET {each} LIMIT 1) last
    """
_COUNT_OF_STATE = """
    SELECT '{state}', count(*) FROM (SELECT 1 FROM {ranges}, LATERAL (
        SELECT account_id FROM posts WHERE {of_range} AND origin = 'scheduled' AND state = '{state}'
        ORDER BY scheduled_at, id LIMIT %(limit)s) head
    WHERE head.account_id = %(account_id)s LIMIT %(limit)s) AS counted
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
#: Reads the texts of the ranges, newest or soonest first, until the list is full or the search ends.
_SEARCHED = {
    "newest": "AND (out_at, id) >= (%(end_at)s, %(end_id)s) AND message ILIKE %(pattern)s",
    "soonest": "AND (scheduled_at, id) <= (%(end_at)s, %(end_id)s) AND message ILIKE %(pattern)s",
}
#: Texts of one range and state that a page of a search reads at most: the next page goes on there. More ranges than
#: six, the platforms of an account, share the texts of six. With an index of trigrams, each of a post's three row
#: versions would write an entry for every trigram of the text.
_READ = 1_000
_EACH = "(SELECT greatest(6 * %(reads)s / greatest(count(*), 6), %(reads)s / 250 + 1) FROM {ranges})"

#: A place in a list: time and id of a post.
Place = tuple[datetime, str]


class Lists:
    """Reads lists of posts. Callers have checked that the page `page_id` may be used and is of the given platform."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def scheduled(
        self,
        account_id: str,
        *,
        limit: int,
        search: str | None = None,
        end: Place | None = None,
        **where: Any,
    ) -> list[Post]:
        """Returns scheduled posts that fit the filters `where` (the arguments of `_scheduled`), soonest first.

        `search`: returns only posts that contain this text. `end`: the last place in the list (time and id of a post)
        at which the search looks for the text.
        """
        ranges, states, values = _scheduled(account_id, **where)
        values |= {"limit": limit, **_searched(search, end or (_LAST, ""))}
        return self._posts(_soonest(ranges, states, search is not None), values)

    def scheduled_end(self, account_id: str, **where: Any) -> Place | None:
        """Returns the last place in the list of scheduled posts (time and id) at which a search for a text should look,
        so that it does not become slow. Returns None if the search may read the whole list. `where`: the arguments of
        `_scheduled`."""
        ranges, states, values = _scheduled(account_id, **where)
        rows = _soonest_end(ranges, states).fetch(self._connection, values | {"reads": _READ})
        return (rows[0][0], rows[0][1]) if rows else None

    def scheduled_counts(self, account_id: str, *, most: int, **where: Any) -> dict[str, int]:
        """Returns how many of the scheduled posts that fit `where` are queued, held and failed. Counts up to `most`
        posts of each."""
        ranges, states, values = _scheduled(
            account_id, **where, statuses=("queued", "held", "failed"), after=None
        )
        return dict(_counts(ranges, states).fetch(self._connection, values | {"limit": most}))

    def published(
        self,
        account_id: str,
        *,
        limit: int,
        search: str | None = None,
        end: Place | None = None,
        **where: Any,
    ) -> list[Post]:
        """Returns published posts that fit the filters `where` (the arguments of `_published`), newest first.

        `search`: returns only posts that contain this text. `end`: the oldest place in the list (time and id of a post)
        at which the search looks for the text.
        """
        ranges, values = _published(account_id, **where)
        values |= {"limit": limit, **_searched(search, end or (_FIRST, ""))}
        return self._posts(_newest(ranges, search is not None), values)

    def commented(self, account_id: str, *, limit: int, **where: Any) -> list[Post]:
        """Returns published posts with comments of visitors, the newest comment first.

        `where`: the arguments of `_published` without `since`, which applies to the time of publishing.
        """
        ranges, values = _published(account_id, **where, since=None)
        of_range = _OF_ACCOUNT[1] if ranges is _OF_ACCOUNT else "page_id = own.id"
        if ranges is _OF_BRANDS:  # no index has a brand's posts with comments
            ranges = _OF_PAGES
        return self._posts(_commented(ranges[0], of_range), values | {"limit": limit})

    def published_end(self, account_id: str, **where: Any) -> Place | None:
        """Returns the oldest place in the list of published posts (time and id) at which a search for a text should
        look, so that it does not become slow. Returns None if the search may read the whole list. `where`: the
        arguments of `_published`."""
        ranges, values = _published(account_id, **where)
        rows = _newest_end(ranges).fetch(self._connection, values | {"reads": _READ})
        return (rows[0][0], _FIRST_ID) if rows else None

    def _posts(self, statement: Prepared, values: dict[str, Any]) -> list[Post]:
        return [Post(*row) for row in statement.fetch(self._connection, values)]


def _scheduled(
    account_id: str,
    *,
    brand_ids: tuple[str, ...] | None,
    page_id: str | None,
    statuses: Collection[str],
    after: Place | None,
    platform: str | None = None,
    until: datetime | None = None,
) -> tuple[str, tuple[str, ...], dict[str, Any]]:
    """Returns what a statement for scheduled posts with these filters needs, as three values. The first is the name of
    the filter whose index the statement reads, such as `page` or `brands`. The second has the states of posts that
    `statuses` stand for. The third has the parameters.

    `after`: the list begins after this place (time and id of a post).
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
    }
    return ranges, tuple(sorted(states)), values


def _published(
    account_id: str,
    *,
    brand_ids: tuple[str, ...] | None,
    page_id: str | None,
    platform: str | None,
    with_comments: bool = False,
    since: datetime | None,
    before: Place | None,
) -> tuple[tuple[str, str], dict[str, Any]]:
    """Returns what a statement for published posts with these filters needs: a pair of SQL texts, and the parameters.
    The first text lists the index ranges to read: an account's platforms, brands or pages. The second is the condition
    that a post lies in such a range.

    `before`: the list begins at the first post before this place (time and id of a post).
    """
    if page_id is not None:
        ranges = _OF_PAGE
    elif brand_ids is None:
        ranges = _OF_ACCOUNT
    else:
        ranges = _OF_BRANDS if platform is None and not with_comments else _OF_PAGES
    before_at, before_id = before or (_LAST, "")
    values = {
        "account_id": account_id,
        "page_id": page_id,
        "brand_ids": list(brand_ids or ()),
        "platforms": [
            it.code
            for it in PLATFORMS.values()
            if platform in (None, it.code) and (it.comments or not with_comments)
        ],
        "since": since or _FIRST,
        "before_at": before_at,
        "before_id": before_id,
        "newest_at": before_at if before_id > _FIRST_ID else before_at - _TICK,
    }
    return ranges, values


def _searched(search: str | None, end: Place) -> dict[str, Any]:
    if search is None:
        return {}
    return {"pattern": _pattern(search), "end_at": end[0], "end_id": end[1]}


def _pattern(search: str) -> str:
    """Returns an ILIKE pattern for texts that contain `search`, with its wildcards escaped."""
    text = search.replace("\\", r"\\").replace("%", r"\%").replace("_", r"\_")
    return f"%{text}%"


@cache
def _newest(ranges: tuple[str, str], searches: bool) -> Prepared:
    searched = _SEARCHED["newest"] if searches else ""
    return Prepared(_NEWEST.format(columns=_COLUMNS, ranges=ranges[0], of_range=ranges[1], searched=searched))


@cache
def _commented(ranges: str, of_range: str) -> Prepared:
    return Prepared(_COMMENTED.format(columns=_COLUMNS, ranges=ranges, of_range=of_range))


@cache
def _newest_end(ranges: tuple[str, str]) -> Prepared:
    each = _EACH.format(ranges=ranges[0])
    return Prepared(_NEWEST_END.format(ranges=ranges[0], of_range=ranges[1], each=each))


@cache
def _soonest(name: str, states: tuple[str, ...], searches: bool) -> Prepared:
    ranges, of_range = _SOONEST_RANGES[name]
    searched = _SEARCHED["soonest"] if searches else ""
    found = " UNION ALL ".join(
        _SOONEST_OF_STATE.format(
            columns=_COLUMNS, ranges=ranges, of_range=of_range, state=state, searched=searched
        )
        for state in states
    )
    return Prepared(f"SELECT * FROM ({found}) AS found ORDER BY scheduled_at, id LIMIT %(limit)s")


@cache
def _counts(name: str, states: tuple[str, ...]) -> Prepared:
    ranges, of_range = _SOONEST_RANGES[name]
    each = (_COUNT_OF_STATE.format(ranges=ranges, of_range=of_range, state=state) for state in states)
    return Prepared(" UNION ALL ".join(each))


@cache
def _soonest_end(name: str, states: tuple[str, ...]) -> Prepared:
    ranges, of_range = _SOONEST_RANGES[name]
    each = _EACH.format(ranges=ranges)
    found = " UNION ALL ".join(
        _SOONEST_END_OF_STATE.format(ranges=ranges, of_range=of_range, state=state, each=each)
        for state in states
    )
    return Prepared(f"SELECT * FROM ({found}) AS found ORDER BY scheduled_at, id LIMIT 1")
