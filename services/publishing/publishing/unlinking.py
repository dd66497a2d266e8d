"""A page's owner takes it away: its queued posts are cancelled with it, what was posted stays."""

from chassis.loops import wake
from contracts import publishing as api
from contracts.caller import Caller
from contracts.errors import PAGE_IN_USE, POST_IN_PROGRESS, ApiError
from publishing import attachments, reach, telling
from publishing.house import House
from publishing.records import Post
from publishing.store import Connection
from publishing.store.pages import Pages
from publishing.store.polls import Polls
from publishing.store.posts import Posts

#: Posts whose files media is asked to let go of at once; the events say the same of all. Our choice.
_SETTLED_AT_ONCE = 5


def unlink(house: House, caller: Caller, request: api.UnlinkPage) -> api.PageUnlinked:
    """Raises NOT_FOUND, BRAND_NOT_AUTHORIZED, PAGE_IN_USE; POST_IN_PROGRESS while a post of it is being sent."""
    with house.database.transaction() as connection:
        page = reach.page(caller, Pages(connection).lock(request.id), field=None)
        cancelled = _cancel_queued(connection, page.id, may=request.cancel_queued)
        Polls(connection).end_page(page.id)
        Pages(connection).unlink(page.id)
    wake("renew_credentials")
    for post in [post for post in cancelled if post.media_ids][:_SETTLED_AT_ONCE]:
        attachments.settle(house, post)
    return api.PageUnlinked(success=True, id=page.id, cancelled_posts=tuple(post.id for post in cancelled))


def _cancel_queued(connection: Connection, page_id: str, *, may: bool) -> list[Post]:
    store = Posts(connection)
    pending = store.pending_of_page(page_id)
    if pending and not may:
        raise ApiError(PAGE_IN_USE, queued_posts=len(pending))
    if any(post.state != "queued" for post in pending):
        raise ApiError(POST_IN_PROGRESS)
    cancelled = [found for post in pending if (found := store.cancel(post.id)) is not None]
    telling.tell(connection, cancelled)
    return cancelled
