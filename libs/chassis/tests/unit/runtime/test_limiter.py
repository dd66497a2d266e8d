"""Who gets a slot and who waits for one. No holder gets all slots."""

import threading
from contextlib import ExitStack
from fractions import Fraction

import pytest

from chassis.runtime.limiter import Limiter
from contracts.errors import ApiError

HALF, TWO_THIRDS = Fraction(1, 2), Fraction(2, 3)


def limiter_of(count: int, wait_seconds: float = 0, max_share: Fraction = HALF) -> Limiter:
    return Limiter(count, wait_seconds=wait_seconds, max_share=max_share, waiting_per_slot=4)


def taken_by(limiter: Limiter, holder: str, stack: ExitStack) -> int:
    """Takes all slots that the holder can get, until the end of the stack. Returns their number."""
    taken = 0
    while True:
        try:
            stack.enter_context(limiter.slot(holder))
        except ApiError as error:
            assert (error.code, error.extras) == ("SERVICE_UNAVAILABLE", {"retry_after_seconds": 5})
            return taken
        taken += 1


def test_there_are_as_many_slots_as_configured_and_they_are_released() -> None:
    limiter = limiter_of(2)
    for _ in range(2):
        with (
            limiter.slot("a"),
            limiter.slot("b"),
            pytest.raises(ApiError, match="SERVICE_UNAVAILABLE"),
            limiter.slot("c"),
        ):
            pass


@pytest.mark.parametrize(
    ("count", "max_share", "shares"),
    [
        (64, HALF, [32, 16, 8, 4, 2, 1, 1]),
        (24, TWO_THIRDS, [16, 6, 2]),
        (8, TWO_THIRDS, [6, 2]),
        (1, HALF, [1]),
    ],
)
def test_no_holder_has_them_all_and_the_next_one_gets_some(
    count: int, max_share: Fraction, shares: list[int]
) -> None:
    limiter = limiter_of(count, max_share=max_share)
    for _ in range(2):
        with ExitStack() as stack:
            assert [taken_by(limiter, str(number), stack) for number in range(len(shares))] == shares
            assert taken_by(limiter, "too late", stack) == 0


def test_a_holder_without_a_slot_waits_for_one() -> None:
    limiter, entered = limiter_of(1, wait_seconds=5), threading.Event()

    def enter() -> None:
        with limiter.slot("a"):
            entered.set()

    with limiter.slot("a"):
        thread = threading.Thread(target=enter)
        thread.start()
        assert not entered.wait(0.05)
    assert entered.wait(30)
    thread.join(30)


def test_no_holder_occupies_all_places_in_the_queue() -> None:
    limiter, stopped = limiter_of(2, wait_seconds=30), threading.Event()
    refused = threading.Semaphore(0)

    def wait() -> None:
        try:
            with limiter.slot("a"):
                stopped.wait(30)
        except ApiError:
            refused.release()

    threads = [threading.Thread(target=wait) for _ in range(8)]
    with limiter.slot("a"):
        for thread in threads:
            thread.start()
        for _ in range(4):
            assert refused.acquire(timeout=30)
        assert not refused.acquire(blocking=False)
        stopped.set()
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()


def test_without_a_share_one_holder_may_have_all_slots() -> None:
    limiter = Limiter(3)
    with ExitStack() as stack:
        assert taken_by(limiter, "a", stack) == 3
        assert taken_by(limiter, "b", stack) == 0


def test_the_refusal_is_what_the_limiter_was_given_and_comes_when_the_call_says() -> None:
    limiter = Limiter(1, wait_seconds=60, refusal=lambda: TimeoutError("full"))
    with limiter.slot(), pytest.raises(TimeoutError, match="full"), limiter.slot(wait_seconds=-1):
        pass


def test_it_is_idle_when_the_last_slot_is_released() -> None:
    limiter = Limiter(2)
    assert limiter.wait_idle(0)
    with limiter.slot("a"):
        assert not limiter.wait_idle(0)
    assert limiter.wait_idle(0)
