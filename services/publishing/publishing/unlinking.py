"""A page's owner takes it away: its queued posts are cancelled with it, what was posted stays."""

from chassis.loops import wake
from contracts import publishing as api
from contracts.caller import Caller
from contracts.errors import PAGE_IN_USE, POST_IN_PROGRESS, ApiError
from publishing import attachments, reach, telling
from publishing.house import House
from publishing.records import PageRow, Post, is_repeated
from publishing.store import Connection
from publishing.store.pages import Pages
from publishing.store.polls import Polls
from publishing.store.posts import Posts

#: Posts whose files media is asked to let go of at once; the events say the same of all. Our choice.
_SETTLED_AT_ONCE = 5


def unlink(house: House, caller: Caller, request: api.UnlinkPage) -> api.PageUnlinked:
    """Once per operation. Raises NOT_FOUND, BRAND_NOT_AUTHORIZED, PAGE_IN_USE; POST_IN_PROGRESS while a post of it is
    being sent."""
    with house.database.transaction() as connection:
        found = Pages(connection).lock(request.id)
        if found is not None and is_repeated(caller, found.unlink_operation_id):
            return _answered_again(connection, caller, found)
        page = reach.page(caller, found, field=None)
        cancelled, revisions = _cancel_queued(connection, caller, page.id, may=request.cancel_queued)
        Polls(connection).end_page(page.id)
        Pages(connection).unlink(page.id, caller.operation_id)
    wake("renew_credentials")
    for post in [post for post in cancelled if post.media_ids][:_SETTLED_AT_ONCE]:
        attachments.settle(house, post, revisions[post.id])
    return api.PageUnlinked(success=True, id=page.id, cancelled_posts=tuple(post.id for post in cancelled))


def _answered_again(connection: Connection, caller: Caller, page: PageRow) -> api.PageUnlinked:
    caller.check_reach(page.account_id, page.brand_id)
    assert caller.operation_id is not None, "the page knows it"
    cancelled = Posts(connection).cancelled_by(caller.operation_id, page.account_id, page.id)
    return api.PageUnlinked(success=True, id=page.id, cancelled_posts=tuple(cancelled))


def _cancel_queued(
    connection: Connection, caller: Caller, page_id: str, *, may: bool
) -> tuple[list[Post], dict[str, int]]:
    """The posts, and the revisions of what media is told of them."""
    store = Posts(connection)
    pending = store.pending_of_page(page_id)
    if pending and not may:
        raise ApiError(PAGE_IN_USE, queued_posts=len(pending))
    if any(post.state != "queued" for post in pending):
        raise ApiError(POST_IN_PROGRESS)
    changed = (store.cancel(post.id, caller.operation_id) for post in pending)
    cancelled = [post for post in changed if post is not None]
    return cancelled, telling.tell(connection, cancelled)
