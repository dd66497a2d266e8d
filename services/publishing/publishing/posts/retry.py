"""Makes posts due at once: failed posts for clients, queued posts for the operator."""

from functools import partial

from chassis.db import clock
from chassis.db.operations import Operations, once
from contracts import publishing as api
from contracts.caller import Caller
from publishing import attachments, post_events
from publishing.context import DUE_POSTS, AppContext
from publishing.posts.checks import check_page, unchangeable
from publishing.posts.reading import get_scheduled, shown
from publishing.records import reached
from publishing.store.holds import Holds
from publishing.store.pages import Pages
from publishing.store.posts import Posts


def retry(app: AppContext, caller: Caller, request: api.PostId) -> api.ScheduledPost:
    """Makes a failed post due now. The caller becomes its maker (user and token). A repeated request changes nothing,
    and gets the post.

    Raises POST_IN_PROGRESS for a queued post, and NOT_FOUND for a post in any other state or with a file that is gone.
    Raises PAGE_EXPIRED if the page has expired, and TOKEN_REVOKED if the token was revoked during the call.
    """
    work = partial(_retry, app, caller, request)
    return once(app.database, caller, work, partial(shown, app, caller))


def _retry(app: AppContext, caller: Caller, request: api.PostId) -> api.ScheduledPost:
    post = get_scheduled(app, caller, request.id)
    if post.state == "failed":
        with app.database.reading() as connection:
            page = Pages(connection).get(post.page_id)
        assert page is not None
        check_page(app, page)
        if post.media_ids:
            revision = post.media_revision + 1
            attachments.attach(app, post.owner, post.id, post.platform, post.media_ids, revision)
    with app.database.transaction() as connection:
        store, operations = Posts(connection), Operations(connection)
        operations.begin(caller)
        Holds(connection).check_access(caller)
        found, _ = Pages(connection).lock_with_time(post.page_id)
        reached(caller, found, field=None)
        again = store.requeue(post.id, caller) or unchangeable(store, post.id)
        if again.media_ids:
            post_events.stage_media(connection, again)
        operations.end(caller, post.id)
    DUE_POSTS.wake()
    return again.scheduled_view()


def bring_due(app: AppContext, caller: Caller, request: api.PostId) -> api.ScheduledPost:
    """Makes a queued post due now, for the operator. A repeated request gets the post, even if it is published by
    then."""
    caller.check_operator()
    work = partial(_bring_due, app, caller, request)
    return once(app.database, caller, work, partial(shown, app, caller))


def _bring_due(app: AppContext, caller: Caller, request: api.PostId) -> api.ScheduledPost:
    with app.database.transaction() as connection:
        store, operations = Posts(connection), Operations(connection)
        operations.begin(caller)
        now = clock.now(connection)
        post = store.change(request.id, {"scheduled_at": now, "out_at": now}) or unchangeable(
            store, request.id
        )
        operations.end(caller, post.id)
    DUE_POSTS.wake()
    return post.scheduled_view()
