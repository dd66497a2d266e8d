"""Posts queued again: a failed one by its client, any queued one brought due by the operator."""

from functools import partial

from chassis.db import clock
from chassis.db.operations import Operations, once
from chassis.runtime.loops import wake
from contracts import publishing as api
from contracts.caller import Caller
from publishing import attachments, post_events
from publishing.context import House
from publishing.posts.checks import check_page, unchangeable
from publishing.posts.reading import get_scheduled, shown
from publishing.rules import reach
from publishing.store.holds import Holds
from publishing.store.pages import Pages
from publishing.store.posts import Posts


def retry(house: House, caller: Caller, request: api.PostId) -> api.ScheduledPost:
    """A failed post is due now, and the caller's; 409 when it is queued, 404 in any other state (decisions), or when a
    file is gone.

    The same operation again gets the post, and tries it no second time. Raises TOKEN_REVOKED for a call that was on its
    way while its token was revoked.
    """
    work = partial(_retry, house, caller, request)
    return once(house.database, caller, work, partial(shown, house, caller))


def _retry(house: House, caller: Caller, request: api.PostId) -> api.ScheduledPost:
    post = get_scheduled(house, caller, request.id)
    if post.state == "failed":
        with house.database.reading() as connection:
            page = Pages(connection).get(post.page_id)
        assert page is not None
        check_page(house, page)
        if post.media_ids:
            attachments.attach(house, post.owner, post.id, post.media_ids, post.media_revision + 1)
    with house.database.transaction() as connection:
        store, operations = Posts(connection), Operations(connection)
        operations.begin(caller)
        Holds(connection).check_access(caller)
        found, _ = Pages(connection).lock_with_time(post.page_id)
        reach.page(caller, found, field=None)
        again = store.requeue(post.id, caller) or unchangeable(store, post.id)
        if again.media_ids:
            post_events.tell_media(connection, again)
        operations.end(caller, post.id)
    wake("publish_due_posts")
    return again.scheduled_view()


def bring_due(house: House, caller: Caller, request: api.PostId) -> api.ScheduledPost:
    """Operator: a queued post's time becomes now. The same operation again gets it, also when it has gone out."""
    caller.check_operator()
    work = partial(_bring_due, house, caller, request)
    return once(house.database, caller, work, partial(shown, house, caller))


def _bring_due(house: House, caller: Caller, request: api.PostId) -> api.ScheduledPost:
    with house.database.transaction() as connection:
        store, operations = Posts(connection), Operations(connection)
        operations.begin(caller)
        now = clock.now(connection)
        post = store.change(request.id, {"scheduled_at": now, "out_at": now}) or unchangeable(
            store, request.id
        )
        operations.end(caller, post.id)
    wake("publish_due_posts")
    return post.scheduled_view()
