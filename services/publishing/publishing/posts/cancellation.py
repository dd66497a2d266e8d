"""A scheduled post cancelled."""

from functools import partial

from chassis.db.operations import Operations, once
from contracts import publishing as api
from contracts.caller import Caller
from publishing import attachments, post_events
from publishing.context import House
from publishing.posts.checks import unchangeable
from publishing.posts.reading import get_post, get_scheduled
from publishing.store.posts import Posts


def cancel(house: House, caller: Caller, request: api.PostId) -> api.Cancelled:
    """Also answered to the operation that has cancelled it before, as its first answer may be lost."""
    work = partial(_cancel, house, caller, request)
    return once(house.database, caller, work, partial(_cancelled, house, caller))


def _cancelled(house: House, caller: Caller, post_id: str) -> api.Cancelled:
    return api.Cancelled(success=True, id=get_post(house, caller, post_id).id)


def _cancel(house: House, caller: Caller, request: api.PostId) -> api.Cancelled:
    post = get_scheduled(house, caller, request.id)
    with house.database.transaction() as connection:
        store, operations = Posts(connection), Operations(connection)
        operations.begin(caller)
        cancelled = store.cancel(post.id) or unchangeable(store, post.id)
        revision = post_events.tell_media(connection, cancelled) if cancelled.media_ids else 0
        operations.end(caller, post.id)
    if cancelled.media_ids:
        attachments.settle(house, cancelled, revision)
    return api.Cancelled(success=True, id=post.id)
