"""Stages events about posts, in the transaction of the change that they report."""

from collections.abc import Iterable, Iterator
from itertools import groupby

from chassis.bus.outbox import Staging, stage_all
from contracts.caller import Caller, Maker
from contracts.events import HoldEnded, PostFailed, PostMedia, PostPublished, PostsHeld
from publishing.records import PENDING, UNENDED, Post
from publishing.store import Connection
from publishing.store.posts import Posts


def stage_ended(connection: Connection, posts: Iterable[Post]) -> dict[str, int]:
    """Stages the events of those posts that have ended. Ignores posts that are still pending.

    While the client of a post that is published at once still waits, its answer will tell the outcome. So the post's
    event then goes only to subscriptions that ask for events about such posts (`immediate_posts`). Returns, by post id,
    the revisions of the events to the media service.
    """
    ended = [post for post in posts if post.state not in PENDING]
    media, revisions = _media_events(connection, [post for post in ended if post.media_ids])
    events = [event for post in ended if post.awaited_until is None for event in _end_events(post)]
    awaited = [post for post in ended if post.awaited_until is not None and post.reports_at_once]
    events += [event for post in awaited for event in _end_events(post, "immediate")]
    stage_all(connection, [*media, *events])
    return revisions


def stage_late(connection: Connection, posts: Iterable[Post]) -> None:
    """Stages events of ended posts whose client waited for the outcome but was answered without it. They go to the
    subscriptions to which `stage_ended` did not send the event, because the client was still waiting then.
    """
    audiences = [(post, "others" if post.reports_at_once else "") for post in posts]
    stage_all(connection, [event for post, audience in audiences for event in _end_events(post, audience)])


def stage_held(connection: Connection, posts: Iterable[Post]) -> None:
    """Stages the event posts.held for posts that are held from now on: one event for each brand, reason and maker."""
    ordered = sorted(posts, key=_held_with)
    stage_all(connection, [_held_event(list(group)) for _, group in groupby(ordered, _held_with)])


def stage_hold_ended(connection: Connection, posts: Iterable[Post], caller: Caller, outcome: str) -> None:
    """Stages the event posts.hold.ended, which says who released or cancelled held posts: one event for each brand,
    reason and maker. `posts` must have the values that they had while held.
    """
    by = Maker(user_id=caller.user_id, token_id=caller.token_id)
    groups = [list(group) for _, group in groupby(sorted(posts, key=_held_with), _held_with)]
    stage_all(
        connection,
        [
            Staging(
                "posts.hold.ended",
                HoldEnded(
                    brand_id=first.brand_id,
                    outcome=outcome,
                    by=by,
                    made_by=first.made_by,
                    post_ids=tuple(post.id for post in (first, *others)),
                ),
                first.account_id,
                first.brand_id,
            )
            for first, *others in groups
        ],
    )


def stage_media(connection: Connection, post: Post) -> int:
    """Stages an event that tells the media service which files a stored, changed or cancelled post uses from now on.
    Returns its revision."""
    events, revisions = _media_events(connection, [post])
    stage_all(connection, events)
    return revisions[post.id]


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


def _media_events(connection: Connection, posts: list[Post]) -> tuple[list[Staging], dict[str, int]]:
    """Builds a post.media event for each post, and returns with them the posts' new media revisions by post id.

    The caller's transaction has locked the posts, so a later transaction on the same post gets a higher revision.
    """
    if not posts:
        return [], {}
    revisions = Posts(connection).next_media_revisions([post.id for post in posts])
    events = [
        Staging(
            "post.media",
            PostMedia(
                post_id=post.id,
                media_ids=tuple(post.media_ids),
                state=_media_state(post),
                revision=revisions[post.id],
            ),
            post.account_id,
            post.brand_id,
            post.traceparent or "",
        )
        for post in posts
    ]
    return events, revisions


def _media_state(post: Post) -> str:
    if post.state == "published":
        return "published"
    return "pending" if post.state in UNENDED and post.media_ids else "released"


def _end_events(post: Post, audience: str = "") -> Iterator[Staging]:
    owner, brand, view = post.account_id, post.brand_id, post.scheduled_view()
    to = owner, brand, post.traceparent or "", None, audience
    if post.state == "published":
        yield Staging("post.published", PostPublished(user_id=owner, brand_id=brand, post=view), *to)
    elif post.state == "failed":
        assert post.error is not None
        failed = PostFailed(
            user_id=owner, brand_id=brand, post=view, error=post.error, attempts=post.attempts
        )
        yield Staging("post.failed", failed, *to)
