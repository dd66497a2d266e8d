"""Which events a change of a post gives rise to, staged in the transaction that makes it."""

from collections.abc import Iterable, Iterator
from itertools import groupby

from chassis.bus.outbox import Staging, stage_all
from contracts.events import PostFailed, PostMedia, PostPublished, PostsHeld
from publishing.records import PENDING, UNENDED, Post
from publishing.store import Connection
from publishing.store.posts import Posts


def tell(connection: Connection, posts: Iterable[Post]) -> dict[str, int]:
    """Stages what the end of posts that have just ended gives rise to; those that go on are passed over.

    A publish at once is told of in public only when its client waits no longer for the outcome (decisions). Its month
    unit is quota's to ask about (`units`). Returns the revisions of what media is told, by post.
    """
    ended = [post for post in posts if post.state not in PENDING]
    told = [post for post in ended if post.awaited_until is None]
    files, revisions = _files_of(connection, [post for post in ended if post.media_ids])
    stage_all(connection, [*files, *(event for post in told for event in _events_of(post))])
    return revisions


def tell_held(connection: Connection, posts: Iterable[Post]) -> None:
    """Stages an event for each brand and maker whose posts are held from now on."""
    ordered = sorted(posts, key=_held_with)
    stage_all(connection, [_held_event(list(group)) for _, group in groupby(ordered, _held_with)])


def _held_with(post: Post) -> tuple[str, ...]:
    maker = (post.maker_user_id or "", post.maker_token_id or "")
    return (post.account_id, post.brand_id, post.hold_reason or "", *maker)


def _held_event(posts: list[Post]) -> Staging:
    first = posts[0]
    held = PostsHeld(
        user_id=first.account_id,
        brand_id=first.brand_id,
        reason=first.hold_reason or "",
        made_by=first.made_by,
        post_ids=tuple(post.id for post in posts),
    )
    return Staging("posts.held", held, first.account_id, first.brand_id)


def tell_media(connection: Connection, post: Post) -> int:
    """Stages what a post that was stored, changed or cancelled holds of media's files from now on: its revision."""
    words, revisions = _files_of(connection, [post])
    stage_all(connection, words)
    return revisions[post.id]


def _files_of(connection: Connection, posts: list[Post]) -> tuple[list[Staging], dict[str, int]]:
    """A word about each post's files, and its revision by post; the rows are locked by this transaction, so that the
    numbers keep its order."""
    if not posts:
        return [], {}
    revisions = Posts(connection).next_media_revisions([post.id for post in posts])
    words = [
        Staging(
            "post.media",
            PostMedia(
                post_id=post.id,
                media_ids=tuple(post.media_ids),
                state=_hold_of(post),
                revision=revisions[post.id],
            ),
            post.account_id,
            post.brand_id,
            post.traceparent or "",
        )
        for post in posts
    ]
    return words, revisions


def _hold_of(post: Post) -> str:
    if post.state == "published":
        return "published"
    return "pending" if post.state in UNENDED and post.media_ids else "released"


def _events_of(post: Post) -> Iterator[Staging]:
    owner, brand, view = post.account_id, post.brand_id, post.scheduled_view()
    to = owner, brand, post.traceparent or ""
    if post.state == "published":
        yield Staging("post.published", PostPublished(user_id=owner, brand_id=brand, post=view), *to)
    elif post.state == "failed":
        assert post.error is not None
        failed = PostFailed(
            user_id=owner, brand_id=brand, post=view, error=post.error, attempts=post.attempts
        )
        yield Staging("post.failed", failed, *to)
