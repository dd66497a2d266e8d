"""Single posts as a caller may see them."""

from contracts import publishing as api
from contracts.caller import Caller
from contracts.errors import (
    NOT_FOUND,
    POST_IN_PROGRESS,
    ApiError,
)
from publishing.context import House
from publishing.records import Post
from publishing.store.posts import Posts


def shown(house: House, caller: Caller, post_id: str) -> api.ScheduledPost:
    """What the same operation gets again: the post as it is by now."""
    return get_post(house, caller, post_id, by_operator=True).scheduled_view()


def show(house: House, caller: Caller, request: api.PostId) -> api.ScheduledPost:
    """The operator sees anybody's."""
    return get_post(house, caller, request.id, by_operator=True).scheduled_view()


def get_post(
    house: House, caller: Caller, post_id: str, field: str | None = None, *, by_operator: bool = False
) -> Post:
    """A post the caller may see; with `by_operator` anybody's for the operator.

    Raises NOT_FOUND (with `field`), BRAND_NOT_AUTHORIZED.
    """
    with house.database.reading() as connection:
        post = Posts(connection).get(post_id)
    if post is None:
        raise ApiError(NOT_FOUND, **({"field": field} if field else {}))
    if not (by_operator and caller.is_operator):
        caller.check_reach(post.account_id, post.brand_id, field=field)
    return post


def get_scheduled(house: House, caller: Caller, post_id: str) -> Post:
    """The same for what only scheduled posts know; one published at once is not found."""
    post = get_post(house, caller, post_id)
    if post.origin != "scheduled":
        raise ApiError(POST_IN_PROGRESS if post.status == "queued" else NOT_FOUND)
    return post
