"""Stores that a comment needs no reply, for everybody who works on the brand. The list of comments shows it."""

from contracts import publishing as api
from contracts.caller import Caller
from contracts.errors import NOT_FOUND, ApiError
from publishing.context import AppContext
from publishing.store.comments import Comments


def settle(app: AppContext, caller: Caller, request: api.CommentId) -> api.SettledComment:
    """Stores that a comment needs no reply. If that is stored already, keeps its time.

    Raises NOT_FOUND for a comment that is unknown or not on a post of the account, and BRAND_NOT_AUTHORIZED if the
    token may not use the post's brand.
    """
    return _set(app, caller, request.id, is_settled=True)


def reopen(app: AppContext, caller: Caller, request: api.CommentId) -> api.SettledComment:
    """Stores that a comment may need a reply after all. Raises the errors of `settle`."""
    return _set(app, caller, request.id, is_settled=False)


def _set(app: AppContext, caller: Caller, comment_id: str, *, is_settled: bool) -> api.SettledComment:
    with app.database.reading() as connection:
        owner = Comments(connection).owner_of(comment_id)
    if owner is None:
        raise ApiError(NOT_FOUND)
    caller.check_reach(owner.account_id, owner.brand_id)
    with app.database.transaction() as connection:
        settled_at = Comments(connection).set_settled(comment_id, is_settled=is_settled)
    return api.SettledComment(id=comment_id, settled_at=settled_at)
