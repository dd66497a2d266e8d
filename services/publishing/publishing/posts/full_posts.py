"""Shows posts with their attempts: one post or several with all their details, or the posts of given operations in
short."""

from chassis.ids import is_id
from contracts import publishing as api
from contracts.caller import Caller
from contracts.errors import ERRORS, SERVER_ERROR
from publishing.context import AppContext
from publishing.posts.reading import get_post
from publishing.records import PageRow, Post
from publishing.store.attempts import AttemptRow, Attempts
from publishing.store.operations import PostOperations
from publishing.store.pages import Pages
from publishing.store.posts import Posts

#: The posts of a request that are shown: five calls for twenty pages, repeated with the same request id.
_MOST_FOUND = 100


def show(app: AppContext, caller: Caller, request: api.PostId) -> api.FullPost:
    """Returns a post of any origin and state with all its details. Raises NOT_FOUND or BRAND_NOT_AUTHORIZED for a post
    that the caller may not see.
    """
    post = get_post(app, caller, request.id)
    with app.database.reading() as connection:
        page = Pages(connection).get(post.page_id)
        attempts = Attempts(connection).of_posts([post.id])[post.id]
    assert page is not None  # a page outlives its posts
    return _view(post, page, attempts)


def show_list(app: AppContext, caller: Caller, request: api.ListPosts) -> api.PostList:
    """Returns the posts with these ids, in their order, as far as they exist and the caller may access them."""
    asked = [it for it in dict.fromkeys(request.post_ids.split(",")) if is_id(it)]
    with app.database.reading() as connection:
        found = Posts(connection).many(asked)
        posts = [found[it] for it in asked if it in found and _is_reached(caller, found[it])]
        pages = Pages(connection).many([post.page_id for post in posts])
        attempts = Attempts(connection).of_posts([post.id for post in posts])
    return api.PostList(posts=tuple(_view(post, pages[post.page_id], attempts[post.id]) for post in posts))


def find(app: AppContext, caller: Caller, request: api.FindPosts) -> api.FoundPosts:
    """Returns the posts that these operations made, changed, retried or replied to, as far as the caller may access
    them."""
    with app.database.reading() as connection:
        found = PostOperations(connection).find(caller.account_id, request.operation_ids, _MOST_FOUND)
        reached = [post for post in found if caller.reaches(post.brand_id)]
        attempts = Attempts(connection).of_posts([post.id for post in reached])
    return api.FoundPosts(posts=tuple(_in_short(post, attempts[post.id]) for post in reached))


def _is_reached(caller: Caller, post: Post) -> bool:
    return post.account_id == caller.account_id and caller.reaches(post.brand_id)


def _in_short(post: Post, attempts: list[AttemptRow]) -> api.PostOfRequest:
    return api.PostOfRequest.made_from(
        post, error=_problem(post.error_code, post.error_message), attempts=tuple(map(_attempt, attempts))
    )


def _view(post: Post, page: PageRow, attempts: list[AttemptRow]) -> api.FullPost:
    return api.FullPost.made_from(
        post,
        page=api.PageOfPost.made_from(page, account_id=page.remote_account_id),
        brand_name=page.brand_name,
        media_ids=tuple(post.media_ids),
        media_urls=tuple(post.media_urls),
        scheduled_at=post.scheduled_at if post.origin == "scheduled" else None,
        error=_problem(post.error_code, post.error_message),
        attempts=tuple(_attempt(row) for row in attempts),
        made_by=post.made_by if post.maker_user_id else None,
        metrics=api.Metrics.made_from(post) if post.state == "published" else None,
        **post.settings or {},
    )


def _attempt(row: AttemptRow) -> api.PostAttempt:
    return api.PostAttempt.made_from(
        row, outcome=row.outcome or "open", error=_problem(row.error_code, row.error_message)
    )


def _problem(code: str | None, message: str | None) -> api.PostProblem | None:
    if code is None:
        return None
    known = ERRORS.get(code, SERVER_ERROR)
    return api.PostProblem(code=code, message=message or known.message, recommended_fix=known.recommended_fix)
