"""Limits how many calls of one kind run at once in a process, and how large a share of them one holder may have."""

import threading
from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from functools import partial

from contracts.errors import SERVICE_UNAVAILABLE, ApiError

#: What is raised by default.
BUSY = partial(ApiError, SERVICE_UNAVAILABLE, retry_after_seconds=5)


class _Slots:
    """Counts the slots that each holder (an account, say) has taken. A holder gets at most the share `max_share`,
    rounded up, of the slots that the other holders leave.
    """

    def __init__(self, count: int, max_share: Fraction) -> None:
        self._free, self._max_share = count, max_share
        self._held: Counter[Hashable] = Counter()

    def are_free_for(self, holder: Hashable) -> bool:
        held = self._held[holder]
        return self._free > 0 and held < self._max_share * (self._free + held)

    @property
    def are_all_free(self) -> bool:
        return not self._held

    def take(self, holder: Hashable) -> None:
        self._free -= 1
        self._held[holder] += 1

    def release(self, holder: Hashable) -> None:
        self._free += 1
        self._held[holder] -= 1
        if not self._held[holder]:
            del self._held[holder]


class Limiter:
    """Limits how many calls run at once, and how many of them for one holder, such as an account. Thread-safe.

    Each running call takes one slot. A holder gets at most the share `max_share`, rounded up, of the slots that the
    others leave. Example: of 10 slots, others have 4. With a share of 1/2, the holder gets at most 3 of the other 6.

    A call that finds no slot waits for one. For each slot there are `waiting_per_slot` places to wait, which holders
    share by the same rule; None: any number may wait. `refusal` makes the error for a call that gets no place, or
    no slot in time; by default SERVICE_UNAVAILABLE.
    """

    def __init__(
        self,
        count: int,
        *,
        wait_seconds: float = 0.0,
        max_share: Fraction = Fraction(1),
        waiting_per_slot: int | None = None,
        refusal: Callable[[], Exception] = BUSY,
    ) -> None:
        self._wait_seconds, self._refusal = wait_seconds, refusal
        self._running = _Slots(count, max_share)
        self._waiting = _Slots(count * waiting_per_slot, max_share) if waiting_per_slot else None
        self._changed = threading.Condition()

    @contextmanager
    def slot(self, holder: Hashable = None, wait_seconds: float | None = None) -> Iterator[None]:
        """Takes a slot for the length of the block. `wait_seconds` replaces the limiter's default. Raises the same
        errors as `take`.
        """
        self.take(holder, wait_seconds)
        try:
            yield
        finally:
            self.release(holder)

    def take(self, holder: Hashable = None, wait_seconds: float | None = None) -> None:
        """Takes a slot. Raises the limiter's refusal when none becomes free in time, or too many calls wait."""
        with self._changed:
            if not self._running.are_free_for(holder):
                self._wait(holder, self._wait_seconds if wait_seconds is None else wait_seconds)
            self._running.take(holder)

    def release(self, holder: Hashable = None) -> None:
        with self._changed:
            self._running.release(holder)
            self._changed.notify_all()

    def wait_idle(self, timeout_seconds: float) -> bool:
        """Waits until no slot is taken. Returns False if one is still taken after `timeout_seconds`."""
        with self._changed:
            return self._changed.wait_for(lambda: self._running.are_all_free, timeout_seconds)

    def _wait(self, holder: Hashable, wait_seconds: float) -> None:
        waiting = self._waiting
        if waiting is not None:
            if not waiting.are_free_for(holder):
                raise self._refusal()
            waiting.take(holder)
        try:
            if not self._changed.wait_for(lambda: self._running.are_free_for(holder), wait_seconds):
                raise self._refusal()
        finally:
            if waiting is not None:
                waiting.release(holder)
