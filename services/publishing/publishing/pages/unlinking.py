"""Unlinks a page: its queued and held posts are cancelled, published posts stay."""

from functools import partial

import msgspec

from chassis.db.operations import Operations, once
from contracts import publishing as api
from contracts.caller import Caller
from contracts.errors import PAGE_IN_USE, POST_IN_PROGRESS, ApiError
from publishing import attachments, post_events
from publishing.context import RENEWALS, AppContext
from publishing.records import Post, reached
from publishing.store import Connection
from publishing.store.comments import Comments
from publishing.store.pages import Pages
from publishing.store.polls import Polls
from publishing.store.posts import Posts

#: Posts whose files are released by a call to the media service at once, a second each at most. The events release the
#: files of all posts.
_SETTLED_AT_ONCE = 5


def unlink(app: AppContext, caller: Caller, request: api.UnlinkPage) -> api.PageUnlinked:
    """Unlinks a page, only once even if the request is repeated. Cancels the page's queued and held posts if the
    request allows it.

    Raises NOT_FOUND or BRAND_NOT_AUTHORIZED for a page that the caller may not use. Raises PAGE_IN_USE if the page has
    posts that have not ended and the request does not allow cancelling posts. Otherwise raises POST_IN_PROGRESS while a
    post, a first comment or a reply is being sent, or a post is being looked up.
    """
    work = partial(_unlink, app, caller, request)
    return once(app.database, caller, work, partial(_answered_again, app, caller))


def _unlink(app: AppContext, caller: Caller, request: api.UnlinkPage) -> api.PageUnlinked:
    with app.database.transaction() as connection:
        operations = Operations(connection)
        operations.begin(caller)
        page = reached(caller, Pages(connection).lock(request.id), field=None)
        cancelled, revisions = _cancel_queued(connection, page.id, may=request.cancel_queued)
        Polls(connection).end_page(page.id)
        Pages(connection).unlink(page.id)
        cancelled_ids = tuple(post.id for post in cancelled)
        unlinked = api.PageUnlinked(success=True, id=page.id, cancelled_posts=cancelled_ids)
        operations.end(caller, msgspec.json.encode(unlinked).decode())
    RENEWALS.wake()
    for post in [post for post in cancelled if post.media_ids][:_SETTLED_AT_ONCE]:
        attachments.settle(app, post, revisions[post.id])
    return unlinked


def _answered_again(app: AppContext, caller: Caller, result: str) -> api.PageUnlinked:
    unlinked = msgspec.json.decode(result, type=api.PageUnlinked)
    with app.database.reading() as connection:
        page = Pages(connection).get(unlinked.id)
    assert page is not None
    caller.check_reach(page.account_id, page.brand_id)
    return unlinked


def _cancel_queued(connection: Connection, page_id: str, *, may: bool) -> tuple[list[Post], dict[str, int]]:
    """Cancels the page's queued and held posts. Returns the posts and, by post id, the revisions of their events to the
    media service.

    `may`: whether the request allows cancelling posts. If it does not, raises PAGE_IN_USE when the page has posts that
    have not ended. Otherwise raises POST_IN_PROGRESS while a post, a first comment or a reply is being sent, or a post
    is being looked up.
    """
    store = Posts(connection)
    pending = store.pending_of_page(page_id)
    if pending and not may:
        raise ApiError(PAGE_IN_USE, queued_posts=len(pending))
    if any(post.state not in ("queued", "held") for post in pending) or Comments(connection).is_sending(
        page_id
    ):
        raise ApiError(POST_IN_PROGRESS)
    cancelled = store.cancel_queued_of_page(page_id) if pending else []
    return cancelled, post_events.stage_ended(connection, cancelled)
