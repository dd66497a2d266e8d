"""Who gets a place, who waits for one, and that nobody has them all."""

import threading
from contextlib import ExitStack

import pytest

from contracts.errors import ApiError
from gateway.transfers.fair_limiter import FairLimiter


def places_of(count: int, wait_seconds: float = 0, greed: int = 1) -> FairLimiter:
    return FairLimiter("uploads", count, wait_seconds=wait_seconds, greed=greed)


def taken_by(places: FairLimiter, who: str, stack: ExitStack) -> int:
    """Takes all that `who` gets, until the end of the stack."""
    taken = 0
    while True:
        try:
            stack.enter_context(places.take(who))
        except ApiError as error:
            assert (error.code, error.extras) == ("SERVICE_UNAVAILABLE", {"retry_after_seconds": 1})
            return taken
        taken += 1


def test_places_are_as_many_as_said_and_come_back() -> None:
    places = places_of(2)
    for _ in range(2):
        with (
            places.take("a"),
            places.take("b"),
            pytest.raises(ApiError, match="SERVICE_UNAVAILABLE"),
            places.take("c"),
        ):
            pass


@pytest.mark.parametrize(
    ("count", "greed", "shares"),
    [(64, 1, [32, 16, 8, 4, 2, 1, 1]), (24, 2, [16, 6, 2]), (8, 2, [6, 2]), (1, 1, [1])],
)
def test_nobody_has_them_all_and_whoever_comes_next_gets_some(
    count: int, greed: int, shares: list[int]
) -> None:
    places = places_of(count, greed=greed)
    for _ in range(2):
        with ExitStack() as stack:
            assert [taken_by(places, str(who), stack) for who in range(len(shares))] == shares
            assert taken_by(places, "too late", stack) == 0


def test_who_finds_no_place_waits_for_one() -> None:
    places, entered = places_of(1, wait_seconds=5), threading.Event()

    def enter() -> None:
        with places.take("a"):
            entered.set()

    with places.take("a"):
        thread = threading.Thread(target=enter)
        thread.start()
        assert not entered.wait(0.05)
    assert entered.wait(5)
    thread.join(5)


def test_nobody_has_the_whole_waiting_room() -> None:
    places, stopped = places_of(2, wait_seconds=30), threading.Event()
    refused = threading.Semaphore(0)

    def wait() -> None:
        try:
            with places.take("a"):
                stopped.wait(30)
        except ApiError:
            refused.release()

    threads = [threading.Thread(target=wait) for _ in range(8)]
    with places.take("a"):
        for thread in threads:
            thread.start()
        for _ in range(4):
            assert refused.acquire(timeout=5)
        assert not refused.acquire(blocking=False)
        stopped.set()
    for thread in threads:
        thread.join(5)
        assert not thread.is_alive()
