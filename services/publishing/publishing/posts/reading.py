"""Reads single posts."""

from contracts import publishing as api
from contracts.caller import Caller
from contracts.errors import NOT_FOUND, POST_IN_PROGRESS, ApiError
from publishing.context import AppContext
from publishing.records import Post
from publishing.store.posts import Posts


def shown(app: AppContext, caller: Caller, post_id: str) -> api.ScheduledPost:
    """Returns the answer to a repeated request: its post as it is now. Raises the errors of `get_post`."""
    return get_post(app, caller, post_id, by_operator=True).scheduled_view()


def show(app: AppContext, caller: Caller, request: api.PostId) -> api.ScheduledPost:
    """Returns a post in the form of a scheduled one, also if it was published at once. The operator may see the posts
    of every account. Raises the errors of `get_post`.
    """
    return get_post(app, caller, request.id, by_operator=True).scheduled_view()


def get_post(
    app: AppContext, caller: Caller, post_id: str, field: str | None = None, *, by_operator: bool = False
) -> Post:
    """Returns a post that the caller may see. With `by_operator` the operator may see the posts of every account.

    Raises NOT_FOUND (with `field`) if there is no such post, and BRAND_NOT_AUTHORIZED if the token may not use its
    brand.
    """
    with app.database.reading() as connection:
        post = Posts(connection).get(post_id)
    if post is None:
        raise ApiError(NOT_FOUND, **({"field": field} if field else {}))
    if not (by_operator and caller.is_operator):
        caller.check_reach(post.account_id, post.brand_id, field=field)
    return post


def get_scheduled(app: AppContext, caller: Caller, post_id: str) -> Post:
    """Returns a scheduled post that the caller may see. For a post published at once raises POST_IN_PROGRESS while it
    is being sent, otherwise NOT_FOUND."""
    post = get_post(app, caller, post_id)
    if post.origin != "scheduled":
        raise ApiError(POST_IN_PROGRESS if post.status == "queued" else NOT_FOUND)
    return post
