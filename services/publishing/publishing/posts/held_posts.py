"""Releases and cancels held posts: the posts with given ids, the posts of one maker, or all."""

from collections.abc import Collection
from datetime import datetime
from functools import partial
from typing import TypeVar

import msgspec

from chassis.db import clock
from chassis.db.operations import Operations, once
from chassis.ids import is_id
from contracts import publishing as api
from contracts.caller import Caller
from contracts.errors import NOT_FOUND, PAGE_EXPIRED, SCHEDULE_OUT_OF_RANGE, ApiError
from contracts.record import Record
from publishing import attachments, post_events
from publishing.context import DUE_POSTS, AppContext
from publishing.records import PageRow, Post
from publishing.store.holds import Holds
from publishing.store.pages import Pages
from publishing.store.posts import Posts

T = TypeVar("T", bound=Record)

#: Posts that one call releases or cancels: their rows are locked until its transaction ends.
MAX_POSTS = 500
#: Posts whose files are released by a call to the media service at once, a second each at most. The events release the
#: files of all posts.
_SETTLED_AT_ONCE = 5

_NOT_HELD = api.PostError(code=NOT_FOUND.code, message="The post is not held.")
_UNLINKED = api.PostError(code=NOT_FOUND.code, message="The page of the post was unlinked. Cancel the post.")
_EXPIRED = api.PostError(
    code=PAGE_EXPIRED.code, message=f"{PAGE_EXPIRED.message} Reconnect the page, then release the post."
)
_PASSED = api.PostError(
    code=SCHEDULE_OUT_OF_RANGE.code,
    message='The time of the post has passed. Give it a new time, or release it with past_due "now".',
)


def release(app: AppContext, caller: Caller, request: api.ReleasePosts) -> api.PostsReleased:
    """Queues held posts again, only once even if the request is repeated. The caller becomes their maker.

    No guardrail is checked: a post that would break a cap when it is due is put off until it fits. Raises TOKEN_REVOKED
    if the token was revoked during the call, and NOT_FOUND or BRAND_NOT_AUTHORIZED for an id in `post_ids` that the
    caller may not use.
    """
    released = once(
        app.database, caller, partial(_release, app, caller, request), partial(_again, api.PostsReleased)
    )
    DUE_POSTS.wake()
    return released


def _release(app: AppContext, caller: Caller, request: api.ReleasePosts) -> api.PostsReleased:
    is_late_fine = request.past_due == "now"
    with app.database.transaction() as connection:
        operations, holds = Operations(connection), Holds(connection)
        operations.begin(caller)
        holds.check_access(caller)
        _check_reach(Posts(connection), caller, request.post_ids)
        meant = holds.lock(caller, request, is_late_fine=is_late_fine, limit=MAX_POSTS)
        pages = Pages(connection).many(list({post.page_id for post in meant.posts}))
        now = clock.now(connection)
        refused = {
            post.id: error
            for post in meant.posts
            if (error := _refusal(post, pages[post.page_id], now, is_late_fine=is_late_fine))
        }
        released = [post for post in meant.posts if post.id not in refused]
        able = [post.id for post in released]
        holds.release(able, caller)
        post_events.stage_hold_ended(connection, released, caller, "released")
        answer = api.PostsReleased(
            released=tuple(able),
            refused=_refused(refused, request.post_ids, able),
            remaining=max(meant.able_count - MAX_POSTS, 0),
        )
        operations.end(caller, msgspec.json.encode(answer).decode())
    return answer


def cancel(app: AppContext, caller: Caller, request: api.HeldPosts) -> api.HeldPostsCancelled:
    """Cancels held posts, only once even if the request is repeated. Raises TOKEN_REVOKED if the token was revoked
    during the call, and NOT_FOUND or BRAND_NOT_AUTHORIZED for an id in `post_ids` that the caller may not use."""
    work = partial(_cancel, app, caller, request)
    return once(app.database, caller, work, partial(_again, api.HeldPostsCancelled))


def _cancel(app: AppContext, caller: Caller, request: api.HeldPosts) -> api.HeldPostsCancelled:
    with app.database.transaction() as connection:
        operations, holds = Operations(connection), Holds(connection)
        operations.begin(caller)
        holds.check_access(caller)
        _check_reach(Posts(connection), caller, request.post_ids)
        meant = holds.lock(caller, request, is_late_fine=False, limit=MAX_POSTS)
        cancelled = holds.cancel([post.id for post in meant.posts])
        revisions = post_events.stage_ended(connection, cancelled)
        post_events.stage_hold_ended(connection, meant.posts, caller, "cancelled")
        ids = [post.id for post in meant.posts]
        answer = api.HeldPostsCancelled(
            cancelled=tuple(ids),
            refused=_refused({}, request.post_ids, ids),
            remaining=max(meant.total_count - MAX_POSTS, 0),
        )
        operations.end(caller, msgspec.json.encode(answer).decode())
    for post in [post for post in cancelled if post.media_ids][:_SETTLED_AT_ONCE]:
        attachments.settle(app, post, revisions[post.id])
    return answer


def _check_reach(store: Posts, caller: Caller, post_ids: Collection[str] | None) -> None:
    """Raises NOT_FOUND or BRAND_NOT_AUTHORIZED unless all of these posts are scheduled ones that the caller may
    access."""
    found = store.many([post_id for post_id in post_ids or () if is_id(post_id)])
    for post_id in post_ids or ():
        post = found.get(post_id)
        if post is None or post.origin != "scheduled":
            raise ApiError(NOT_FOUND, field="post_ids")
        caller.check_reach(post.account_id, post.brand_id, field="post_ids")


def _refusal(post: Post, page: PageRow, now: datetime, *, is_late_fine: bool) -> api.PostError | None:
    """Returns why a held post cannot be released, or None. With `is_late_fine` a time in the past is no reason."""
    if page.unlinked_at is not None:
        return _UNLINKED
    if page.expired:
        return _EXPIRED
    return _PASSED if post.scheduled_at <= now and not is_late_fine else None


def _refused(
    refused: dict[str, api.PostError], asked: Collection[str] | None, done: Collection[str]
) -> tuple[api.RefusedPost, ...]:
    """Returns the posts that were not released or cancelled, each with the reason. Adds the requested ids (`asked`)
    that are not held posts."""
    missing = dict.fromkeys(
        (post_id for post_id in asked or () if post_id not in {*done, *refused}), _NOT_HELD
    )
    return tuple(
        api.RefusedPost(id=post_id, error=error) for post_id, error in {**refused, **missing}.items()
    )


def _again(kind: type[T], result: str) -> T:
    """Returns the answer to a repeated request: its stored result, decoded as `kind`."""
    return msgspec.json.decode(result, type=kind)
