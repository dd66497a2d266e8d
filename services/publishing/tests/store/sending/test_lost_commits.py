"""Commits whose answers were lost: the repeated write finds that the first one is stored, and no event is sent
twice.
"""

import threading
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from publishing_kit.fake_platform import FakePlatform
from publishing_kit.world import World

from contracts import publishing as api
from contracts.errors import ApiError
from contracts.events import Event
from contracts.record import Nothing
from publishing.platforms.base import PlatformRefusal, Refusal
from publishing.posts import publish_now
from publishing.posts.answers import Answer
from publishing.records import Post
from publishing.sending import due_posts
from publishing.sending.context import SendingContext
from publishing.sending.outcome_writer import Write, Written
from publishing.store.sending import AttemptOutcome, Claim, Sending

Lose = Callable[[], None]


def begun(world: World, app: SendingContext, count: int = 1) -> list[Post]:
    """Claims posts of one page and returns them."""
    world.fill(world.page(), count)
    world.shift(3600)
    [(_, posts)], _ = due_posts.claim_queues(app, 1)
    return posts


def audiences(world: World) -> list[str]:
    bodies = world.ask("SELECT body FROM outbox ORDER BY position")
    return [msgspec.json.decode(bytes(row.body), type=Event).audience for row in bodies]


def published(post: Post) -> AttemptOutcome:
    return AttemptOutcome(id=post.id, fence=post.fence, state="published", outcome="published", remote_id="r")


def test_a_begin_that_is_said_again_holds_and_writes_one_attempt(
    world: World, app: SendingContext, lose_commit: Lose
) -> None:
    [post] = begun(world, app)
    lose_commit()
    assert app.outcomes.write(begin=Claim(post.id, post.fence)) == Written(None, True)
    assert world.ask("SELECT number, outcome FROM attempts") == [(1, None)]


def test_a_begin_that_is_said_again_while_its_commit_is_still_on_its_way_holds(
    world: World, app: SendingContext
) -> None:
    [post] = begun(world, app)
    claim = Claim(post.id, post.fence)
    is_waited_for, over = threading.Event(), threading.Event()
    blocked = (
        "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    )

    def commit_late() -> None:
        with world.database.transaction() as connection:
            Sending(connection).begin([claim])
            is_waited_for.set()
            while not world.ask(blocked):
                assert not over.wait(0.01)

    first = threading.Thread(target=commit_late)
    first.start()
    assert is_waited_for.wait(30)
    repeat = Write(begin=claim, is_repeat=True)
    written = app.outcomes._commit([repeat])
    over.set()
    first.join(30)
    assert written == [Written(None, True)]
    assert world.ask("SELECT number, outcome FROM attempts") == [(1, None)]


def test_a_lane_whose_commits_are_lost_sends_each_post_once_and_in_order(
    world: World, app: SendingContext, platform: FakePlatform, lose_commit: Lose
) -> None:
    page = world.page()
    world.fill(page, 3)
    world.shift(3600)
    [(row, posts)], _ = due_posts.claim_queues(app, 1)
    platform.before = lambda message: lose_commit()
    lose_commit()
    due_posts.send_queue(app, row, posts)
    assert platform.messages == [f"{page.id} {n}" for n in range(3)]
    assert {row.state for row in world.ask("SELECT state FROM posts")} == {"published"}
    assert world.events() == ["post.published"] * 3


def test_an_outcome_that_is_said_again_is_found_and_told_once(
    world: World, app: SendingContext, lose_commit: Lose
) -> None:
    [post, following] = begun(world, app, 2)
    app.outcomes.write(begin=Claim(post.id, post.fence))
    lose_commit()
    written = app.outcomes.write(published(post), Claim(following.id, following.fence))
    assert written.post is not None
    assert (written.post.id, written.post.state, written.has_begun) == (post.id, "published", True)
    assert world.events() == ["post.published"]


def test_a_publish_at_once_is_answered_as_what_it_was_recorded_as(
    world: World, platform: FakePlatform, lose_commit: Lose
) -> None:
    platform.before = lambda message: lose_commit()
    assert world.published().status == "published"
    assert world.events() == []


def test_a_publish_at_once_that_was_refused_is_answered_so(
    world: World, platform: FakePlatform, lose_commit: Lose
) -> None:
    platform.before = lambda message: lose_commit()
    platform.script = [PlatformRefusal(Refusal.REJECTED, "100", "no")]
    with pytest.raises(ApiError) as refusal:
        world.published()
    assert refusal.value.code == "PLATFORM_REJECTED"
    assert world.events() == []


@pytest.mark.parametrize("is_reported", [False, True])
@pytest.mark.parametrize("seconds", [0.0, 50.0])
def test_an_outcome_that_became_late_while_it_was_said_again_is_told_once(
    world: World,
    app: SendingContext,
    platform: FakePlatform,
    lose_commit: Lose,
    monkeypatch: Any,
    seconds: float,
    is_reported: bool,
) -> None:
    """The client has stopped waiting, either before the outcome was first written or before it was written again."""
    if is_reported:
        publish_now.report_at_once(app, world.caller(), Nothing())
    platform.before = lambda message: lose_commit()
    late = "UPDATE posts SET awaited_until = clock_timestamp() WHERE awaited_until IS NOT NULL"
    clock = SimpleNamespace(monotonic=time.monotonic, sleep=lambda seconds: world.run(late))
    monkeypatch.setattr("publishing.sending.outcome_writer.time", clock)
    request = api.PublishPost(page_id=world.page().id, message="hello")
    publish_now.publish(app, world.caller(), request, Answer(seconds))
    was_told_before = is_reported and seconds > 0
    assert set(world.events()) == {"post.published"}
    assert audiences(world) == (["immediate", "others"] if was_told_before else [""])
