"""Lists of posts, page by page of a cursor."""

from datetime import datetime

from chassis.cursor import decode_cursor, encode_cursor
from contracts import publishing as api
from contracts.caller import Caller
from contracts.errors import INVALID_DATE, ApiError, invalid
from contracts.platforms import parse_platform
from publishing import reach
from publishing.house import House
from publishing.store import Connection
from publishing.store.pages import Pages
from publishing.store.posts import Posts

STATUSES = ("queued", "published", "failed", "cancelled")


def scheduled(house: House, caller: Caller, request: api.ListScheduledPosts) -> api.ScheduledPostList:
    """Soonest first."""
    statuses = _statuses(request.status)
    with house.database.reading() as connection:
        _check_page(connection, caller, request.page_id)
        found = Posts(connection).scheduled(
            caller.account_id,
            brand_ids=caller.brand_ids,
            page_id=request.page_id,
            statuses=statuses,
            after=position(request.cursor),
            limit=request.limit + 1,
        )
    shown, last = found[: request.limit], found[request.limit - 1 : request.limit]
    cursor = (
        encode_cursor(last[0].scheduled_at.isoformat(), last[0].id) if len(found) > request.limit else None
    )
    return api.ScheduledPostList(
        scheduled_posts=tuple(post.scheduled_view() for post in shown), next_cursor=cursor
    )


def published(house: House, caller: Caller, request: api.ListPublishedPosts) -> api.PublishedPostList:
    """Newest first."""
    platform = platform_code(request.platform)
    if request.since is not None and request.since.tzinfo is None:
        raise ApiError(INVALID_DATE, field="since")
    with house.database.reading() as connection:
        _check_page(connection, caller, request.page_id)
        found = Posts(connection).published(
            caller.account_id,
            brand_ids=caller.brand_ids,
            page_id=request.page_id,
            platform=platform,
            since=request.since,
            before=position(request.cursor),
            limit=request.limit + 1,
        )
    shown = found[: request.limit]
    cursor = None
    if len(found) > request.limit and shown[-1].out_at is not None:
        cursor = encode_cursor(shown[-1].out_at.isoformat(), shown[-1].id)
    return api.PublishedPostList(
        published_posts=tuple(post.published_view() for post in shown), next_cursor=cursor
    )


def position(cursor: str | None) -> tuple[datetime, str] | None:
    """The (time, id) a cursor stands for. Raises VALIDATION_ERROR for one we did not make."""
    if cursor is None:
        return None
    stamp, row_id = decode_cursor(cursor, 2)
    try:
        at = datetime.fromisoformat(stamp)
    except ValueError:
        raise invalid("cursor", "is not a cursor of this list") from None
    if at.tzinfo is None or "\0" in row_id or not row_id.isascii():
        raise invalid("cursor", "is not a cursor of this list")
    return at, row_id


def platform_code(value: str | None) -> str | None:
    """The code of a filter value, which may be a full name in any case. Raises VALIDATION_ERROR."""
    if value is None:
        return None
    code = parse_platform(value)
    if code is None:
        raise invalid("platform", "must be one of FB, IG, LN, TT, TW, YT")
    return code


def _statuses(value: str) -> tuple[str, ...]:
    if value == "all":
        return STATUSES
    asked = tuple(part.strip() for part in value.split(","))
    if not set(asked) <= set(STATUSES):
        raise invalid("status", f"must be all, or of {', '.join(STATUSES)}, comma-separated")
    return asked


def _check_page(connection: Connection, caller: Caller, page_id: str | None) -> None:
    if page_id is not None:
        reach.page(caller, Pages(connection).get(page_id))
