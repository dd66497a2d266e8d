"""Lists the comments of published posts, read live from the platform."""

from chassis.cursor import decode_cursor, encode_cursor
from contracts import publishing as api
from contracts.caller import Caller
from contracts.errors import INVALID_DATE, NOT_FOUND, UNSUPPORTED_PLATFORM, ApiError, invalid
from contracts.platforms import PLATFORMS
from publishing.comments.received import store_comments, view
from publishing.context import AppContext
from publishing.platforms.base import CommentPage, CommentQuery, NotConnected, PlatformRefusal, Refusal
from publishing.posts.checks import check_page
from publishing.posts.engagement import published, unreadable
from publishing.records import PageRow, Post, reached
from publishing.store.pages import Pages


def show_list(app: AppContext, caller: Caller, request: api.ListComments) -> api.CommentList:
    """Returns a post's comments, newest first.

    Raises NOT_FOUND or BRAND_NOT_AUTHORIZED for a post that the caller may not see, INVALID_DATE or VALIDATION_ERROR
    for a malformed parameter, UNSUPPORTED_PLATFORM if the platform has no comments, PAGE_EXPIRED, and PLATFORM_ERROR
    if the platform refuses.
    """
    if request.since is not None and request.since.tzinfo is None:
        raise ApiError(INVALID_DATE, field="since")
    if request.page_id is not None:
        with app.database.reading() as connection:
            reached(caller, Pages(connection).get(request.page_id))
    page, post = published(app, caller, request.post_id, "post_id")
    if request.page_id not in (None, page.id):
        raise ApiError(NOT_FOUND, field="page_id")
    _check_platform(page)
    check_page(app, page)
    found = _fetch(app, caller, page, post, request)
    with app.database.transaction() as connection:
        # A read with a sandbox token triggers no webhooks (spec "Authentication" 7): the next poll does.
        stored = store_comments(connection, page, post, found.comments, tells=not caller.sandbox)
    comments = tuple(
        view(post, one, stored.known, stored.own[one.id], stored.known[one.id].settled_at)
        for one in found.comments
    )
    cursor = encode_cursor(post.id, found.next_cursor) if found.next_cursor is not None else None
    return api.CommentList(comments=comments, next_cursor=cursor)


def _fetch(
    app: AppContext, caller: Caller, page: PageRow, post: Post, request: api.ListComments
) -> CommentPage:
    cursor = None
    if request.cursor is not None:
        post_id, cursor = decode_cursor(request.cursor, 2)
        if post_id != post.id:
            raise invalid("cursor", "is not a cursor of this list")
    # No comment is older than its post, and platforms refuse times before 1970.
    is_narrower = request.since is not None and post.out_at is not None and request.since > post.out_at
    since = request.since if is_narrower else None
    try:
        connector, account = app.connection_to(page)
        return connector.list_comments(
            account, CommentQuery(post.remote_id or "", since, request.limit, cursor)
        )
    except (PlatformRefusal, NotConnected) as error:
        if cursor is not None and isinstance(error, PlatformRefusal) and error.kind is Refusal.REJECTED:
            raise invalid("cursor", "the platform does not know this cursor (any more)") from error
        raise unreadable(app, caller, page, error) from error


def _check_platform(page: PageRow) -> None:
    if not PLATFORMS[page.platform].comments:
        raise ApiError(UNSUPPORTED_PLATFORM, platform=page.platform)
