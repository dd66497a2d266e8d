"""Calls that wait at the same moment are run together, and none of them is lost."""

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from chassis.db.batches import MAX_BATCH, Batches, LaterBatches, _Call
from contracts.errors import SERVICE_UNAVAILABLE, ApiError

PATIENCE_SECONDS = 10


class Gate:
    """A `run` whose first batch waits until the gate is opened, so that the other items gather behind it."""

    def __init__(self, decide: Callable[[list[int]], list[int]]) -> None:
        self._decide = decide
        self.batches: list[list[int]] = []
        self.entered, self.opened = threading.Event(), threading.Event()

    def __call__(self, items: list[int]) -> list[int]:
        self.batches.append(items)
        if len(self.batches) == 1:
            self.entered.set()
            assert self.opened.wait(PATIENCE_SECONDS)
        return self._decide(items)


def doubled(items: list[int]) -> list[int]:
    return [item * 2 for item in items]


def submit_behind_the_first(gate: Gate, count: int) -> list[Future[int]]:
    """Submits items 1 to `count` while item 0 is being run, and then opens the gate."""
    batches: Batches[int, int] = Batches(gate)
    with ThreadPoolExecutor(count + 1) as pool:
        first = pool.submit(batches.submit, 0)
        assert gate.entered.wait(PATIENCE_SECONDS)
        rest = [pool.submit(batches.submit, item) for item in range(1, count + 1)]
        while len(batches._waiting) < count:
            threading.Event().wait(0.001)
        gate.opened.set()
    return [first, *rest]


def test_a_lone_call_is_decided_at_once() -> None:
    batches: Batches[int, int] = Batches(doubled)
    assert [batches.submit(item) for item in (1, 2, 3)] == [2, 4, 6]


def test_calls_that_wait_at_the_same_moment_share_one_batch() -> None:
    gate = Gate(doubled)
    results = submit_behind_the_first(gate, 20)
    assert [result.result() for result in results] == [item * 2 for item in range(21)]
    assert [len(batch) for batch in gate.batches] == [1, 20]


def test_a_batch_is_bounded() -> None:
    gate = Gate(doubled)
    submit_behind_the_first(gate, MAX_BATCH + 5)
    assert [len(batch) for batch in gate.batches] == [1, MAX_BATCH, 5]


def test_a_bad_call_fails_alone() -> None:
    def refuse_seven(items: list[int]) -> list[int]:
        if 7 in items:
            raise ValueError("seven")
        return doubled(items)

    results = submit_behind_the_first(Gate(refuse_seven), 10)
    failed = [item for item, result in enumerate(results) if isinstance(result.exception(), ValueError)]
    assert failed == [7]
    assert results[8].result() == 16


def test_an_outage_is_told_to_all_and_not_tried_again() -> None:
    def away(items: list[int]) -> list[int]:
        if items == [0]:
            return [0]
        raise ApiError(SERVICE_UNAVAILABLE)

    gate = Gate(away)
    results = submit_behind_the_first(gate, 3)
    assert [type(result.exception()) for result in results[1:]] == [ApiError] * 3
    assert len(gate.batches) == 2


def test_the_lead_is_passed_on_when_the_next_in_line_was_killed() -> None:
    gate = Gate(doubled)
    batches: Batches[int, int] = Batches(gate)
    killed = threading.Event()

    class Killed(BaseException):
        pass

    class KilledSignal:
        """Lets the waiting worker die at the moment when it is to run the next batch."""

        def acquire(self) -> None:
            killed.wait(PATIENCE_SECONDS)
            raise Killed

        def release(self) -> None:
            killed.set()

    def submit_and_die() -> Any:
        with pytest.raises(Killed):
            Batches._wait(batches, dying)

    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(batches.submit, 0)
        assert gate.entered.wait(PATIENCE_SECONDS)
        dying: _Call[int, int] = _Call(1)
        dying.signal = KilledSignal()  # type: ignore[assignment]
        batches._waiting.append(dying)
        worker = pool.submit(submit_and_die)
        last = pool.submit(batches.submit, 2)
        while len(batches._waiting) < 2:
            threading.Event().wait(0.001)
        gate.opened.set()
        assert (first.result(PATIENCE_SECONDS), last.result(PATIENCE_SECONDS)) == (0, 4)
        worker.result(PATIENCE_SECONDS)
    assert gate.batches == [[0], [2]]


def test_items_that_nobody_waits_for_are_written_in_their_order_so_many_at_a_time() -> None:
    written: list[list[int]] = []
    later = LaterBatches(written.append, at_once=2, most=10)
    assert all(later.add(number) for number in range(5))
    assert written == []
    assert later.write() == 5
    assert written == [[0, 1], [2, 3], [4]]
    assert later.write() == 0


def test_beyond_the_limit_the_oldest_items_are_dropped_also_after_an_outage() -> None:
    written: list[int] = []
    is_away = True

    def run(batch: list[int]) -> None:
        if is_away:
            raise ApiError(SERVICE_UNAVAILABLE)
        written.extend(batch)

    later = LaterBatches(run, at_once=2, most=3)
    assert [later.add(number) for number in range(4)] == [True, True, True, False]
    with pytest.raises(ApiError):
        later.write()
    assert not later.add(4)
    is_away = False
    assert later.write() == 3
    assert written == [2, 3, 4]


def test_after_an_outage_the_items_are_written_next_time() -> None:
    written: list[int] = []
    is_away = True

    def run(batch: list[int]) -> None:
        if is_away:
            raise ApiError(SERVICE_UNAVAILABLE)
        written.extend(batch)

    later = LaterBatches(run, at_once=2, most=10)
    for number in range(3):
        later.add(number)
    with pytest.raises(ApiError):
        later.write()
    is_away = False
    assert later.write() == 3
    assert written == [0, 1, 2]
