"""Places in a pool: never is more work claimed than can run, and every kind of work gets a place."""

import threading
from collections.abc import Callable, Iterator

import pytest

from chassis.runtime.pool import Pool

Task = Callable[[], None]


class Work:
    """Claims as many tasks as there are places. The tasks run until `goes_on` is set."""

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.goes_on = threading.Event()

    def claim(self, places: int) -> list[Task]:
        self.asked.append(places)
        return [self.run] * places

    def run(self) -> None:
        assert self.goes_on.wait(30)


@pytest.fixture
def pool() -> Iterator[Pool]:
    pool = Pool(6)
    yield pool
    assert pool.wait_idle(30)


@pytest.fixture
def work() -> Iterator[Work]:
    work = Work()
    yield work
    work.goes_on.set()


def test_two_that_claim_at_the_same_moment_start_no_more_than_there_are_places(
    pool: Pool, work: Work
) -> None:
    both = threading.Barrier(2)

    def tick(kind: str) -> None:
        both.wait(30)
        pool.fill(kind, work.claim)

    ticks = [threading.Thread(target=tick, args=(kind,)) for kind in ("first", "second")]
    for one in ticks:
        one.start()
    for one in ticks:
        one.join(30)
    assert sum(work.asked) <= pool.size
    assert pool.free >= 0


def test_a_full_pool_claims_nothing(pool: Pool, work: Work) -> None:
    assert pool.fill("a", work.claim) == 6
    assert pool.fill("a", work.claim) == 0
    assert work.asked == [6]


def test_no_more_than_asked_for_is_claimed(pool: Pool, work: Work) -> None:
    assert pool.fill("a", work.claim, most=2) == 2
    assert pool.fill("a", work.claim, most=0) == 0
    assert pool.free == 4


def test_places_that_nothing_was_claimed_for_stay_free(pool: Pool, work: Work) -> None:
    assert pool.fill("a", lambda places: [work.run]) == 1
    assert pool.fill("a", lambda places: []) == 0
    assert pool.free == 5


def test_a_claim_that_fails_leaves_the_pool_as_it_was(pool: Pool, work: Work) -> None:
    def fail(places: int) -> list[Task]:
        raise ConnectionError

    with pytest.raises(ConnectionError):
        pool.fill("a", fail)
    assert pool.fill("a", work.claim) == 6


def test_work_without_end_leaves_a_place_for_every_other_kind(pool: Pool, work: Work) -> None:
    for kind in ("b", "c"):
        pool.fill(kind, lambda places: [])
    assert pool.fill("a", work.claim) == 4
    assert pool.fill("b", work.claim) == 1
    assert pool.fill("a", work.claim) == 0
    assert pool.fill("c", work.claim) == 1
    assert pool.free == 0


def test_with_fewer_places_than_kinds_each_gets_the_one_that_is_free(work: Work) -> None:
    pool = Pool(2)
    for kind in ("a", "b", "c", "d"):
        pool.fill(kind, lambda places: [])
    assert [pool.fill(kind, work.claim) for kind in ("a", "a", "b", "c")] == [1, 0, 1, 0]
    assert str(work.asked) == "[1, 1]"  # not True, which is no LIMIT
    work.goes_on.set()
    assert pool.wait_free(2, 10)
    assert pool.fill("d", work.claim) == 1


def test_a_task_that_is_started_without_a_free_place_waits_for_one(work: Work) -> None:
    pool, ran, has_begun = Pool(1), threading.Event(), threading.Event()

    def first() -> None:
        has_begun.set()
        work.run()

    pool.start(first)
    assert has_begun.wait(30)
    pool.start(ran.set)
    assert not ran.wait(0.05)
    work.goes_on.set()
    assert ran.wait(30)
    assert pool.wait_idle(30)
