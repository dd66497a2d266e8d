"""A platform that is slower than our answer: the client learns which post it is, and an event reports the outcome."""

import threading
from contextlib import suppress
from functools import partial
from typing import Any

import pytest
from publishing_kit.fake_platform import FakePlatform
from publishing_kit.world import World

from contracts import publishing as api
from contracts.errors import ApiError
from publishing.comments import replies
from publishing.platforms.base import PlatformRefusal, Refusal
from publishing.posts import answers, publish_now
from publishing.posts.answers import Answer
from publishing.sending.context import SendingContext
from publishing.store.operations import Left
from publishing.store.received import Received

NO = PlatformRefusal(Refusal.REJECTED, "100", "no")


@pytest.fixture
def slow(platform: FakePlatform, monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """The platform answers only after this event is set, when the client has had its answer."""
    goes_on = threading.Event()
    monkeypatch.setattr(answers, "_ANSWER_SECONDS", 1.5)
    reply = platform.reply

    def slow_reply(*arguments: Any) -> Any:
        assert goes_on.wait(30)
        return reply(*arguments)

    platform.before = lambda message: goes_on.wait(30)
    monkeypatch.setattr(platform, "reply", slow_reply)
    return goes_on


def answered(app: SendingContext, part: partial[Any]) -> Any:
    """Returns the client's answer from a use case, given as `partial(use_case, app, caller, request)`."""
    return answers.at_platform(app, part.args[1], part)


def is_answered(app: SendingContext, part: partial[Any]) -> ApiError:
    """Returns the error that the client gets while the work still runs."""
    with pytest.raises(ApiError) as refusal:
        answered(app, part)
    return refusal.value


def await_state(world: World, table: str, state: str) -> None:
    waiting = threading.Event()
    while [row.state for row in world.ask(f"SELECT state FROM {table}")] != [state]:
        assert not waiting.wait(0.01)


def publishing(world: World, operation_id: str = "op") -> Any:
    request = api.PublishPost(page_id=world.page().id, message="hello")
    return partial(publish_now.publish, world.app, world.caller(operation_id), request)


def test_a_publish_at_once_slower_than_its_answer_is_named_and_told_of_later(
    world: World, app: SendingContext, slow: threading.Event
) -> None:
    part = publishing(world)
    error = is_answered(app, part)
    assert error.code == "PLATFORM_OUTCOME_UNKNOWN"
    again = is_answered(app, part)
    assert (again.code, again.extras) == ("POST_IN_PROGRESS", error.extras)
    slow.set()
    await_state(world, "posts", "published")
    assert world.events() == ["post.published"]
    assert answered(app, part).post_id == error.extras["post_id"]


def test_one_that_is_refused_later_is_told_of(
    world: World, app: SendingContext, platform: FakePlatform, slow: threading.Event
) -> None:
    platform.script = [NO]
    assert is_answered(app, publishing(world)).code == "PLATFORM_OUTCOME_UNKNOWN"
    slow.set()
    await_state(world, "posts", "failed")
    assert world.events() == ["post.failed"]


def test_a_turn_at_the_platforms_is_kept_as_long_as_the_call_lasts(
    world: World, make_app: Any, slow: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("publishing.context._SLOT_SECONDS", 0.01)
    app = make_app(live_calls=1)
    request = api.PublishPost(page_id=world.page().id, message="hello")
    one = partial(publish_now.publish, app, world.caller("one"), request)
    assert is_answered(app, one).code == "PLATFORM_OUTCOME_UNKNOWN"
    assert is_answered(app, publishing(world, "other")).code == "SERVICE_UNAVAILABLE"
    slow.set()
    await_state(world, "posts", "published")


def leave(world: World, operation_id: str = "op") -> Left:
    """Stops the client's wait now, as the end of the answer time does."""
    return answers.leave(world.database, world.caller(operation_id))


@pytest.mark.parametrize("refusal", [None, NO])
def test_an_answer_given_before_the_outcome_is_recorded_leaves_it_to_an_event(
    world: World, app: SendingContext, platform: FakePlatform, refusal: Exception | None
) -> None:
    platform.script = [refusal] if refusal else []
    platform.before = lambda message: left.append(leave(world))
    left: list[Left] = []
    with suppress(ApiError):
        publishing(world)()
    [post] = world.ask("SELECT id FROM posts")
    assert left == [Left(is_begun=True, post_id=post.id)]
    assert world.events() == ["post.failed" if refusal else "post.published"]


def test_an_outcome_that_is_recorded_first_is_the_answer_and_no_event(world: World) -> None:
    publishing(world)()
    assert leave(world) == Left(is_begun=True, post_id=None)
    assert world.events() == []


def test_what_the_client_was_told_not_to_have_begun_never_begins(
    world: World, platform: FakePlatform, before_it_stores: Any
) -> None:
    left: list[Left] = []
    with before_it_stores(lambda: left.append(leave(world))), pytest.raises(ApiError) as refused:
        publishing(world)()
    assert left == [Left(is_begun=False)]
    assert refused.value.code == "IDEMPOTENCY_IN_PROGRESS"
    assert (platform.posts, world.ask("SELECT FROM posts")) == ([], [])


def test_an_outcome_recorded_after_the_answer_is_told_of_when_the_answer_could_not_be_noted(
    world: World, app: SendingContext, platform: FakePlatform
) -> None:
    """The database was away when the client got its answer."""
    publishing(world)(Answer(seconds=0.0))
    assert world.events() == ["post.published"]


class Died(BaseException):
    """Raised where the process dies."""


@pytest.mark.parametrize("refusal", [None, NO])
def test_a_process_that_dies_after_its_answer_leaves_an_outcome_that_is_told_of(
    world: World,
    app: SendingContext,
    platform: FakePlatform,
    monkeypatch: pytest.MonkeyPatch,
    refusal: Exception | None,
) -> None:
    def die(*arguments: Any, **named: Any) -> Any:
        raise Died

    platform.before = lambda message: leave(world)
    platform.script = [refusal] if refusal else []
    with monkeypatch.context() as patch:
        patch.setattr(app.outcomes, "write", die)
        with pytest.raises(Died):
            publishing(world)()
    world.lapse()
    world.recover()
    world.look(after_seconds=100)
    assert world.events() == ["post.failed" if refusal else "post.published"]


def test_a_process_that_dies_right_after_recording_has_told_who_was_answered_before(
    world: World, app: SendingContext, platform: FakePlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = app.outcomes.write

    def die(*arguments: Any, **named: Any) -> Any:
        write(*arguments, **named)
        raise Died

    platform.before = lambda message: leave(world)
    monkeypatch.setattr(app.outcomes, "write", die)
    with pytest.raises(Died):
        publishing(world)()
    assert world.events() == ["post.published"]


@pytest.fixture
def replying(world: World) -> Any:
    page = world.page()
    post = world.published(page)
    with world.database.transaction() as connection:
        Received(connection).add(post.post_id, ["r1"])
        comment = Received(connection).known(post.post_id, ["r1"])["r1"]
    request = api.ReplyToComment(page_id=page.id, comment_id=comment.id, message="thanks")
    return partial(replies.reply, world.app, world.caller("op"), request)


def test_a_reply_slower_than_its_answer_is_told_of_later(
    world: World, app: SendingContext, replying: Any, slow: threading.Event
) -> None:
    error = is_answered(app, replying)
    assert (error.code, list(error.extras)) == ("PLATFORM_OUTCOME_UNKNOWN", ["post_id"])
    slow.set()
    await_state(world, "replies", "done")
    assert world.events() == ["comment.replied"]


def test_a_reply_that_is_refused_later_has_failed(
    world: World, app: SendingContext, platform: FakePlatform, replying: Any, slow: threading.Event
) -> None:
    platform.comment_script = [NO]
    assert is_answered(app, replying).code == "PLATFORM_OUTCOME_UNKNOWN"
    slow.set()
    await_state(world, "replies", "failed")
    assert world.events() == []
