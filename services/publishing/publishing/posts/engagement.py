"""Engagement of published posts (likes, comments, shares; FB and IG): read from the platform on every call, and stored
for the list of published posts."""

from chassis.db import clock
from contracts import publishing as api
from contracts.caller import Caller
from contracts.errors import NOT_FOUND, PLATFORM_ERROR, UNSUPPORTED_PLATFORM, ApiError
from contracts.platforms import PLATFORMS
from publishing.context import AppContext
from publishing.pages.expiry import note_expiry
from publishing.pages.renewal import effective_refusal
from publishing.platforms.base import Counts, NotConnected, PlatformRefusal, Refusal
from publishing.posts.checks import check_page
from publishing.posts.reading import get_post
from publishing.records import PageRow, Post
from publishing.store.pages import Pages
from publishing.store.posts import Posts


def read(app: AppContext, caller: Caller, request: api.PostId) -> api.Engagement:
    """Reads a post's counts from the platform.

    Raises NOT_FOUND for a post that is not published or that the caller may not see, UNSUPPORTED_PLATFORM if the
    platform has no counts, PAGE_EXPIRED, and PLATFORM_ERROR if the platform refuses.
    """
    page, post = published(app, caller, request.id)
    if not PLATFORMS[page.platform].engagement:
        raise ApiError(UNSUPPORTED_PLATFORM, platform=page.platform)
    check_page(app, page)
    counts = _fetch(app, caller, page, post)
    with app.database.transaction() as connection:
        Posts(connection).set_metrics(post.id, counts.likes, counts.comments, counts.shares or 0)
        now = clock.now(connection)
    assert post.remote_id is not None
    assert post.out_at is not None
    return api.Engagement.made_from(
        post,
        platform_post_id=post.remote_id,
        engagement=api.EngagementCounts(
            likes=counts.likes,
            comments=counts.comments,
            shares=counts.shares,
            total_interactions=counts.likes + counts.comments + (counts.shares or 0),
            permalink=counts.permalink or post.permalink,
            published_at=post.out_at,
        ),
        fetched_at=now,
    )


def published(
    app: AppContext, caller: Caller, post_id: str, field: str | None = None
) -> tuple[PageRow, Post]:
    """Returns a published post with its page. Raises NOT_FOUND for any other post, and BRAND_NOT_AUTHORIZED for one
    that the token may not use.
    """
    post = get_post(app, caller, post_id, field)
    if post.state != "published" or post.remote_id is None:
        raise ApiError(NOT_FOUND, **({"field": field} if field else {}))
    with app.database.reading() as connection:
        page = Pages(connection).get(post.page_id)
    assert page is not None
    return page, post


def unreadable(
    app: AppContext, caller: Caller, page: PageRow, error: PlatformRefusal | NotConnected
) -> ApiError:
    """Builds the error for a client whose read request the platform refused. Marks the page as expired if the refusal
    says so.

    For a sandbox token nothing is marked, because its reads may trigger no webhooks (spec "Authentication" 7).
    """
    if isinstance(error, NotConnected):
        return ApiError(UNSUPPORTED_PLATFORM, str(error), platform=page.platform)
    error = effective_refusal(app, page, error, hastens=not caller.sandbox)
    if error.kind is Refusal.EXPIRED:
        if not caller.sandbox:
            note_expiry(app, page, error)
        return app.expired(page.id)
    return ApiError(PLATFORM_ERROR, f"{error.message} ({error.code})", platform=page.platform)


def _fetch(app: AppContext, caller: Caller, page: PageRow, post: Post) -> Counts:
    try:
        connector, account = app.connection_to(page)
        return connector.engagement(account, post.remote_id or "")
    except (PlatformRefusal, NotConnected) as error:
        raise unreadable(app, caller, page, error) from error
