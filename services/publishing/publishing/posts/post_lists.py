"""Lists posts, page by page with a cursor."""

from datetime import datetime, timedelta
from typing import Any

from msgspec.structs import replace

from chassis.cursor import decode_position, encode_position
from contracts import publishing as api
from contracts.caller import Caller
from contracts.errors import BRAND_NOT_AUTHORIZED, INVALID_DATE, ApiError, invalid
from contracts.platforms import PLATFORMS
from publishing.context import AppContext
from publishing.posts import activity
from publishing.records import PENDING, PageRow, Post, reached
from publishing.rules.filters import platform_code, statuses_in
from publishing.store import Connection
from publishing.store.comments import ReadMarks
from publishing.store.lists import Lists
from publishing.store.pages import Pages

#: States of planned posts that a calendar shows; published ones are read from a list of their own.
_IN_CALENDAR = ("queued", "held", "failed")
#: Counting reads a row of an index for each post, and nobody goes through more than a thousand posts one by one.
_MOST_COUNTED = 1_000
#: The smallest difference between two times of PostgreSQL.
_TICK = timedelta(microseconds=1)


def scheduled(app: AppContext, caller: Caller, request: api.ListScheduledPosts) -> api.ScheduledPostList:
    """Lists scheduled posts, soonest first. Raises BRAND_NOT_AUTHORIZED for a brand that the token may not use, and
    INVALID_DATE or VALIDATION_ERROR for a malformed filter.
    """
    statuses, platform = statuses_in(request.status), platform_code(request.platform)
    _check_zone(since=request.since, until=request.until)
    brand_ids = _brands(caller, request.brand_id)
    with app.database.reading() as connection:
        if not _fits(_check_page(connection, caller, request.page_id), platform, request.brand_id):
            return api.ScheduledPostList(scheduled_posts=(), next_cursor=None)
        lists = Lists(connection)
        where: dict[str, Any] = {
            "brand_ids": brand_ids,
            "page_id": request.page_id,
            "platform": platform,
            "until": request.until,
            "statuses": statuses,
            "after": decode_position(request.cursor) or _position(request.since),
        }
        end = lists.scheduled_end(caller.account_id, **where) if request.search else None
        found = lists.scheduled(
            caller.account_id, **where, search=request.search, end=end, limit=request.limit + 1
        )
    shown = found[: request.limit]
    if len(found) > request.limit:
        end = shown[-1].scheduled_at, shown[-1].id
    cursor = encode_position(*end) if end is not None else None
    return api.ScheduledPostList(
        scheduled_posts=tuple(post.scheduled_view() for post in shown), next_cursor=cursor
    )


def count(app: AppContext, caller: Caller, request: api.CountScheduledPosts) -> api.ScheduledPostCounts:
    """Counts scheduled posts by their state. Raises BRAND_NOT_AUTHORIZED for a brand that the token may not use, and
    VALIDATION_ERROR for a malformed filter.
    """
    platform, brand_ids = platform_code(request.platform), _brands(caller, request.brand_id)
    with app.database.reading() as connection:
        if not _fits(_check_page(connection, caller, request.page_id), platform, request.brand_id):
            return api.ScheduledPostCounts(queued=0, held=0, failed=0)
        where = {"brand_ids": brand_ids, "page_id": request.page_id, "platform": platform}
        found = Lists(connection).scheduled_counts(caller.account_id, most=_MOST_COUNTED, **where)
    queued = min(_MOST_COUNTED, sum(found[state] for state in PENDING))
    return api.ScheduledPostCounts(queued=queued, held=found["held"], failed=found["failed"])


def published(app: AppContext, caller: Caller, request: api.ListPublishedPosts) -> api.PublishedPostList:
    """Lists published posts, newest first or by their activity. Raises BRAND_NOT_AUTHORIZED for a brand that the token
    may not use, and INVALID_DATE or VALIDATION_ERROR for a malformed filter.
    """
    platform = platform_code(request.platform)
    _check_zone(since=request.since, until=request.until)
    if request.sort == "activity":
        _check_absent(request, "since", "until", "search")
    brand_ids = _brands(caller, request.brand_id)
    with app.database.reading() as connection:
        page = _check_page(connection, caller, request.page_id)
        if not _fits(page, platform, request.brand_id) or (
            request.with_comments and page is not None and not PLATFORMS[page.platform].comments
        ):
            return api.PublishedPostList(published_posts=(), next_cursor=None)
        lists = Lists(connection)
        where: dict[str, Any] = {
            "brand_ids": brand_ids,
            "page_id": request.page_id,
            "platform": platform,
            "with_comments": request.with_comments,
            "before": decode_position(request.cursor) or _position(request.until),
        }
        if request.sort == "activity":
            answer = activity.listed(lists, caller.account_id, request.limit, **where)
            return _marked(connection, caller, answer) if request.with_comments else answer
        where["since"] = request.since
        end = lists.published_end(caller.account_id, **where) if request.search else None
        found = lists.published(
            caller.account_id, **where, search=request.search, end=end, limit=request.limit + 1
        )
        shown = found[: request.limit]
        if len(found) > request.limit and shown[-1].out_at is not None:
            end = shown[-1].out_at, shown[-1].id
        cursor = encode_position(*end) if end is not None else None
        answer = api.PublishedPostList(
            published_posts=tuple(post.published_view() for post in shown), next_cursor=cursor
        )
        return _marked(connection, caller, answer) if request.with_comments else answer


def _marked(connection: Connection, caller: Caller, answer: api.PublishedPostList) -> api.PublishedPostList:
    """Returns the list with a `comments_read_until` in each post: until when the caller has read the comments of the
    post's brand.
    """
    posts = answer.published_posts
    read = ReadMarks(connection).of(caller.user_id, {post.brand_id for post in posts})
    marked = [replace(post, comments_read_until=read.get(post.brand_id)) for post in posts]
    return replace(answer, published_posts=tuple(marked))


def calendar(app: AppContext, caller: Caller, request: api.ListCalendarPosts) -> api.CalendarPosts:
    """Lists the posts of a span of time in brief, soonest first.

    The limit applies to published posts and to all others separately: of too many published posts the latest are
    returned, of too many others the earliest.
    """
    statuses, platform = statuses_in(request.status), platform_code(request.platform)
    _check_zone(since=request.since, until=request.until)
    where: dict[str, Any] = {"brand_ids": _brands(caller, request.brand_id), "page_id": request.page_id}
    where |= {"platform": platform, "limit": request.limit + 1}
    planned: list[Post] = []
    published: list[Post] = []
    with app.database.reading() as connection:
        if not _fits(_check_page(connection, caller, request.page_id), platform, request.brand_id):
            return api.CalendarPosts(posts=())
        lists = Lists(connection)
        if waiting := [it for it in statuses if it in _IN_CALENDAR]:
            planned = lists.scheduled(
                caller.account_id,
                **where,
                statuses=waiting,
                after=_position(request.since),
                until=request.until,
            )
        if "published" in statuses:
            since = request.since - _TICK  # the list of published posts begins after it
            published = lists.published(
                caller.account_id, **where, since=since, before=_position(request.until)
            )
    shown, out = planned[: request.limit], published[: request.limit]
    posts = sorted((it.calendar_view() for it in (*shown, *out)), key=lambda it: (it.at, it.id))
    return api.CalendarPosts(
        posts=tuple(posts),
        complete_since=out[-1].published_at if len(published) > len(out) else None,
        complete_until=shown[-1].scheduled_at if len(planned) > len(shown) else None,
    )


def _brands(caller: Caller, brand_id: str | None) -> tuple[str, ...] | None:
    """Returns the brands whose posts are listed; None for all brands of the account. The gateway has checked that
    `brand_id` exists.

    Raises BRAND_NOT_AUTHORIZED if the token may not use it.
    """
    if brand_id is None:
        return caller.brand_ids
    if not caller.reaches(brand_id):
        raise ApiError(BRAND_NOT_AUTHORIZED)
    return (brand_id,)


def _check_absent(request: api.ListPublishedPosts, *names: str) -> None:
    """Raises VALIDATION_ERROR if the request has one of the filters `names`, which the requested order does not
    support."""
    for name in names:
        if getattr(request, name) is not None:
            raise invalid(name, f"cannot be used with sort={request.sort}")


def _fits(page: PageRow | None, platform: str | None, brand_id: str | None) -> bool:
    """Whether the page belongs to this platform and brand. A page, platform or brand that is None always fits."""
    return page is None or (platform in (None, page.platform) and brand_id in (None, page.brand_id))


def _position(bound: datetime | None) -> tuple[datetime, str] | None:
    """Returns the position in a list just before the first post of this time."""
    return None if bound is None else (bound, "")


def _check_zone(**times: datetime | None) -> None:
    """Raises INVALID_DATE for a time without a zone."""
    for name, time in times.items():
        if time is not None and time.tzinfo is None:
            raise ApiError(INVALID_DATE, field=name)


def _check_page(connection: Connection, caller: Caller, page_id: str | None) -> PageRow | None:
    return None if page_id is None else reached(caller, Pages(connection).get(page_id))
