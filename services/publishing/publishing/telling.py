"""Which events a post's end gives rise to, staged in the transaction that ends it."""

from collections.abc import Iterable

from chassis import outbox
from contracts.events import PostFailed, PostPublished, UnitReturned
from publishing.records import Post
from publishing.store import Connection


def tell(connection: Connection, posts: Iterable[Post], *, after_answer: bool = False) -> None:
    """Stages post.published and post.failed for posts that have just ended.

    A publish at once is told of only when its outcome became known after its answer (decisions); if it was
    not published, its month unit goes back.
    """
    for post in posts:
        if post.origin == "scheduled" or after_answer:
            _tell_one(connection, post)


def _tell_one(connection: Connection, post: Post) -> None:
    owner = {"account_id": post.account_id, "brand_id": post.brand_id}
    about = {"user_id": post.account_id, "brand_id": post.brand_id, "post": post.scheduled_view()}
    if post.state == "published":
        outbox.stage(connection, "post.published", PostPublished(**about), **owner)
    elif post.state == "failed":
        assert post.error is not None
        failed = PostFailed(**about, error=post.error, attempts=post.attempts)
        outbox.stage(connection, "post.failed", failed, **owner)
        if post.origin == "immediate" and post.operation_id is not None:
            outbox.stage(connection, "unit.returned", UnitReturned(operation_id=post.operation_id), **owner)
