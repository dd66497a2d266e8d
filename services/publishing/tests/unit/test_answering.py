"""An answer in time, and which of it and an event tells of an outcome: always one, never both."""

import threading

import pytest

from contracts.errors import NOT_FOUND, ApiError
from publishing import answering
from publishing.answering import Answer


@pytest.fixture(autouse=True)
def impatience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answering, "_ANSWER_SECONDS", 0.05)


def await_end_of_patience(answer: Answer) -> None:
    while not answer._is_given:
        threading.Event().wait(0.001)


def code(future: object) -> str:
    problem = future.exception(0)  # type: ignore[attr-defined]
    assert isinstance(problem, ApiError)
    return problem.code


def test_what_parts_give_or_raise_comes_in_their_order() -> None:
    def refuse(answer: Answer) -> int:
        raise ApiError(NOT_FOUND)

    one, other = answering.run([lambda answer: 1, refuse])
    assert (one.result(0), code(other)) == (1, "NOT_FOUND")


def test_what_takes_longer_is_unknown_with_its_post_and_goes_on() -> None:
    goes_on, is_done = threading.Event(), threading.Event()

    def slow(answer: Answer) -> None:
        answer.concerns("pst_1")
        assert goes_on.wait(10)
        assert answer.is_given()
        assert not answer.came_first()
        is_done.set()

    [future] = answering.run([slow])
    assert code(future) == "PLATFORM_OUTCOME_UNKNOWN"
    assert future.exception(0).extras == {"post_id": "pst_1"}  # type: ignore[union-attr]
    goes_on.set()
    assert is_done.wait(10)


def test_what_was_said_not_to_have_begun_does_not_begin() -> None:
    problems: list[str] = []
    is_done = threading.Event()

    def slow(answer: Answer) -> None:
        await_end_of_patience(answer)
        try:
            answer.concerns("pst_1")
        except ApiError as error:
            problems.append(error.code)
        is_done.set()

    [future] = answering.run([slow])
    assert code(future) == "SERVICE_UNAVAILABLE"
    assert is_done.wait(10)
    assert problems == ["SERVICE_UNAVAILABLE"]


def test_parts_that_got_no_turn_were_not_begun() -> None:
    goes_on = threading.Event()
    begun: list[int] = []

    def part(answer: Answer) -> None:
        begun.append(1)
        goes_on.wait(10)

    futures = answering.run([part] * (answering._AT_ONCE + 1))
    assert code(futures[-1]) == "SERVICE_UNAVAILABLE"
    goes_on.set()
    assert len(begun) == answering._AT_ONCE


def test_an_outcome_that_is_known_is_answered_however_late_it_ends() -> None:
    def just_in_time(answer: Answer) -> str:
        assert not answer.is_given()
        assert not answer.came_first()
        await_end_of_patience(answer)
        return "told by the answer"

    [future] = answering.run([just_in_time])
    assert future.result(0) == "told by the answer"


def test_an_answer_given_while_the_outcome_was_written_leaves_it_to_be_told() -> None:
    came_first: list[bool] = []
    is_done = threading.Event()

    def writing(answer: Answer) -> None:
        answer.concerns("pst_1")
        assert not answer.is_given()
        await_end_of_patience(answer)
        came_first.append(answer.came_first())
        is_done.set()

    [future] = answering.run([writing])
    assert code(future) == "PLATFORM_OUTCOME_UNKNOWN"
    assert is_done.wait(10)
    assert came_first == [True]
