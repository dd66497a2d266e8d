"""A platform slower than the answer: the client learns which post it is about, an event tells the rest."""

import threading
from functools import partial
from typing import Any

import pytest

from contracts import publishing as api
from contracts.errors import ApiError
from publishing import answering, comments, publish
from publishing.answering import Answer
from publishing.house import House
from publishing.platforms.base import PlatformRefusal, Refusal
from publishing.store.received import Received

ACCOUNT = "usr_a"
NO = PlatformRefusal(Refusal.REJECTED, "100", "no")


class GivenMeanwhile(Answer):
    """The client waits while the outcome is written, and no longer once it is."""

    def is_given(self) -> bool:
        given = super().is_given()
        self.give()
        return given


@pytest.fixture
def slow(platform: Any, monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """The platform answers once this is set, which is later than the client's answer."""
    goes_on = threading.Event()
    monkeypatch.setattr(answering, "_ANSWER_SECONDS", 0.5)
    reply = platform.reply

    def slow_reply(*arguments: Any) -> Any:
        assert goes_on.wait(10)
        return reply(*arguments)

    platform.before = lambda message: goes_on.wait(10)
    monkeypatch.setattr(platform, "reply", slow_reply)
    return goes_on


def is_answered(house: House, part: Any) -> ApiError:
    """The error that the client gets while the work goes on."""
    with pytest.raises(ApiError) as refusal:
        answering.at_platform(house, ACCOUNT, part)
    return refusal.value


def await_state(world: Any, table: str, state: str) -> None:
    waiting = threading.Event()
    while [row.state for row in world.ask(f"SELECT state FROM {table}")] != [state]:
        assert not waiting.wait(0.01)


def publishing(world: Any, operation_id: str = "op") -> Any:
    request = api.PublishPost(page_id=world.page().id, message="hello")
    return partial(publish.publish, world.house, world.caller(operation_id), request)


def test_a_publish_at_once_slower_than_its_answer_is_named_and_told_of_later(
    world: Any, house: House, slow: threading.Event
) -> None:
    part = publishing(world)
    error = is_answered(house, part)
    assert error.code == "PLATFORM_OUTCOME_UNKNOWN"
    again = is_answered(house, part)
    assert (again.code, again.extras) == ("POST_IN_PROGRESS", error.extras)
    slow.set()
    await_state(world, "posts", "published")
    assert world.events() == ["post.published"]
    assert answering.at_platform(house, ACCOUNT, part).post_id == error.extras["post_id"]


def test_one_that_is_refused_later_is_told_of(
    world: Any, house: House, platform: Any, slow: threading.Event
) -> None:
    platform.script = [NO]
    assert is_answered(house, publishing(world)).code == "PLATFORM_OUTCOME_UNKNOWN"
    slow.set()
    await_state(world, "posts", "failed")
    assert world.events() == ["post.failed"]


def test_a_turn_at_the_platforms_is_kept_as_long_as_the_call_lasts(
    world: Any, make_house: Any, slow: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("publishing.house._TURN_SECONDS", 0.01)
    house = make_house(live_calls=1)
    request = api.PublishPost(page_id=world.page().id, message="hello")
    one = partial(publish.publish, house, world.caller("one"), request)
    assert is_answered(house, one).code == "PLATFORM_OUTCOME_UNKNOWN"
    assert is_answered(house, publishing(world, "other")).code == "SERVICE_UNAVAILABLE"
    slow.set()
    await_state(world, "posts", "published")


def test_an_answer_given_while_the_outcome_is_written_leaves_it_to_an_event(
    world: Any, house: House, platform: Any
) -> None:
    publishing(world, "one")(GivenMeanwhile())
    assert world.events() == ["post.published"]
    platform.script = [NO]
    with pytest.raises(ApiError, match="REJECTED"):
        publishing(world, "other")(GivenMeanwhile())
    assert world.events() == ["post.published", "post.failed"]


@pytest.fixture
def replying(world: Any) -> Any:
    page = world.page()
    post = world.published(page)
    with world.database.transaction() as connection:
        Received(connection).add(post.post_id, ["r1"])
        comment = Received(connection).known(post.post_id, ["r1"])["r1"]
    request = api.ReplyToComment(page_id=page.id, comment_id=comment.id, message="thanks")
    return partial(comments.reply, world.house, world.caller("op"), request)


def test_a_reply_slower_than_its_answer_is_told_of_later(
    world: Any, house: House, replying: Any, slow: threading.Event
) -> None:
    error = is_answered(house, replying)
    assert (error.code, list(error.extras)) == ("PLATFORM_OUTCOME_UNKNOWN", ["post_id"])
    slow.set()
    await_state(world, "replies", "done")
    assert world.events() == ["comment.replied"]


def test_a_reply_that_is_refused_later_has_failed(
    world: Any, house: House, platform: Any, replying: Any, slow: threading.Event
) -> None:
    platform.comment_script = [NO]
    assert is_answered(house, replying).code == "PLATFORM_OUTCOME_UNKNOWN"
    slow.set()
    await_state(world, "replies", "failed")
    assert world.events() == []
