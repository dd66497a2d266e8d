"""Which events a post's end gives rise to, staged in the transaction that ends it."""

from collections.abc import Iterable, Iterator

from chassis.outbox import Staging, stage_all
from contracts.events import PostFailed, PostPublished, UnitReturned
from publishing.records import Post
from publishing.store import Connection


def tell(connection: Connection, posts: Iterable[Post], *, after_answer: bool = False) -> None:
    """Stages post.published and post.failed for posts that have just ended.

    A publish at once is told of only when its outcome became known after its answer (decisions); if it was
    not published, its month unit goes back.
    """
    ended = [post for post in posts if post.origin == "scheduled" or after_answer]
    stage_all(connection, [event for post in ended for event in _events_of(post)])


def _events_of(post: Post) -> Iterator[Staging]:
    owner, brand, view = post.account_id, post.brand_id, post.scheduled_view()
    if post.state == "published":
        yield Staging("post.published", PostPublished(user_id=owner, brand_id=brand, post=view), owner, brand)
    elif post.state == "failed":
        assert post.error is not None
        failed = PostFailed(
            user_id=owner, brand_id=brand, post=view, error=post.error, attempts=post.attempts
        )
        yield Staging("post.failed", failed, owner, brand)
        if post.origin == "immediate" and post.operation_id is not None:
            yield Staging("unit.returned", UnitReturned(operation_id=post.operation_id), owner, brand)
