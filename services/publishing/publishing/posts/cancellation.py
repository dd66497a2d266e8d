"""Cancels scheduled posts."""

from functools import partial

from chassis.db.operations import Operations, once
from contracts import publishing as api
from contracts.caller import Caller
from publishing import attachments, post_events
from publishing.context import AppContext
from publishing.posts.checks import unchangeable
from publishing.posts.reading import get_post, get_scheduled
from publishing.store.posts import Posts


def cancel(app: AppContext, caller: Caller, request: api.PostId) -> api.Cancelled:
    """Cancels a queued, held or failed post. A repeated request gets the same answer."""
    work = partial(_cancel, app, caller, request)
    return once(app.database, caller, work, partial(_cancelled, app, caller))


def _cancelled(app: AppContext, caller: Caller, post_id: str) -> api.Cancelled:
    return api.Cancelled(success=True, id=get_post(app, caller, post_id).id)


def _cancel(app: AppContext, caller: Caller, request: api.PostId) -> api.Cancelled:
    post = get_scheduled(app, caller, request.id)
    with app.database.transaction() as connection:
        store, operations = Posts(connection), Operations(connection)
        operations.begin(caller)
        cancelled = store.cancel(post.id) or unchangeable(store, post.id)
        revision = post_events.stage_media(connection, cancelled) if cancelled.media_ids else 0
        if cancelled.hold_reason is not None:
            post_events.stage_hold_ended(connection, [cancelled], caller, "cancelled")
        operations.end(caller, post.id)
    if cancelled.media_ids:
        attachments.settle(app, cancelled, revision)
    return api.Cancelled(success=True, id=post.id)
