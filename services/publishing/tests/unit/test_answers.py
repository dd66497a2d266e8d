"""An answer is given in time. For operations that still run, it has the state that the database holds."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from contracts.caller import Caller
from contracts.errors import NOT_FOUND, SERVICE_UNAVAILABLE, ApiError
from publishing.posts import answers
from publishing.posts.answers import Answer, Part
from publishing.store.operations import Left

CALLER = Caller(account_id="usr_a", user_id="usr_a", operation_id="op")


@pytest.fixture(autouse=True)
def impatience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "_ANSWER_SECONDS", 0.5)


@pytest.fixture
def goes_on() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


def run(*works: Callable[[Answer], Any], left: Left | None = None) -> list[Any]:
    """Runs the works as parts of one request. Returns their results. For an error: its code, with the post's id if it
    has one.

    `left` is the state of a part that has not ended in time. None stands for a database that cannot be reached.
    """

    def leave(caller: Caller) -> Left:
        assert caller == CALLER
        if left is None:
            raise ApiError(SERVICE_UNAVAILABLE)
        return left

    ended = answers.run([Part(CALLER, work) for work in works], leave)
    return [_what(future) for future in ended]


def _what(future: Any) -> Any:
    problem = future.exception(0)
    if problem is None:
        return future.result(0)
    assert isinstance(problem, ApiError)
    post_id = problem.extras.get("post_id")
    return (problem.code, post_id) if post_id else problem.code


def test_what_parts_give_or_raise_comes_in_their_order() -> None:
    def refuse(answer: Answer) -> int:
        raise ApiError(NOT_FOUND)

    assert run(lambda answer: 1, refuse) == [1, "NOT_FOUND"]


def test_what_takes_longer_is_unknown_with_its_post_and_goes_on(goes_on: threading.Event) -> None:
    is_done = threading.Event()

    def slow(answer: Answer) -> None:
        assert goes_on.wait(30)
        is_done.set()

    assert run(slow, left=Left(is_begun=True, post_id="pst_1")) == [("PLATFORM_OUTCOME_UNKNOWN", "pst_1")]
    goes_on.set()
    assert is_done.wait(30)


def test_what_has_not_begun_by_then_is_answered_so(goes_on: threading.Event) -> None:
    assert run(lambda answer: goes_on.wait(30), left=Left(is_begun=False)) == ["SERVICE_UNAVAILABLE"]


def test_parts_that_got_no_turn_were_not_begun(goes_on: threading.Event) -> None:
    begun: list[int] = []

    def part(answer: Answer) -> None:
        begun.append(1)
        goes_on.wait(30)

    ended = run(*[part] * (answers._AT_ONCE + 1), left=Left(is_begun=True, post_id="pst_1"))
    assert ended[-1] == "SERVICE_UNAVAILABLE"
    assert len(begun) == answers._AT_ONCE


def test_an_outcome_that_is_recorded_is_answered_however_late_its_part_ends() -> None:
    def just_in_time(answer: Answer) -> str:
        while answer.left_seconds:
            threading.Event().wait(0.001)
        threading.Event().wait(0.02)
        return "the outcome"

    assert run(just_in_time, left=Left(is_begun=True)) == ["the outcome"]


def test_a_part_that_does_not_end_although_its_outcome_is_recorded_is_not_waited_for_for_ever(
    goes_on: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers, "_END_SECONDS", 0.05)
    assert run(lambda answer: goes_on.wait(30), left=Left(is_begun=True)) == ["SERVICE_UNAVAILABLE"]


@pytest.mark.parametrize(
    ("post_id", "expected"), [(None, "SERVICE_UNAVAILABLE"), ("pst_1", ("PLATFORM_OUTCOME_UNKNOWN", "pst_1"))]
)
def test_with_the_database_away_the_answer_is_what_this_process_knows(
    goes_on: threading.Event, post_id: str | None, expected: Any
) -> None:
    def slow(answer: Answer) -> None:
        answer.post_id = post_id
        goes_on.wait(30)

    assert run(slow) == [expected]
