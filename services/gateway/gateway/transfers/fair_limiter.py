"""How many transfers run at once, and how large a share of them one client or account may have."""

import threading
from collections import Counter
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from fractions import Fraction

from contracts.errors import SERVICE_UNAVAILABLE, ApiError

#: Requests that may wait for each slot. Our choice.
_WAITING_PER_SLOT = 4


class _Slots:
    """Slots of which nobody gets more than a share of those that others have left."""

    def __init__(self, count: int, max_share: Fraction) -> None:
        self._free = count
        #: Holding at most this many times the free slots is the same as at most `max_share` of both together.
        self._held_per_free = max_share / (1 - max_share)
        self._held: Counter[Hashable] = Counter()

    def are_free_for(self, holder: Hashable) -> bool:
        return self._held[holder] < self._free * self._held_per_free

    def take(self, holder: Hashable) -> None:
        self._free -= 1
        self._held[holder] += 1

    def release(self, holder: Hashable) -> None:
        self._free += 1
        self._held[holder] -= 1
        if not self._held[holder]:
            del self._held[holder]


class FairLimiter:
    """Limits one kind of transfer in this process. Thread safe.

    A holder has at most `max_share` of all slots, the next one the same share of the rest. Requests that find no slot
    wait for one; their number is limited, and shared, in the same way.
    """

    def __init__(self, transfers: str, count: int, *, wait_seconds: float, max_share: Fraction) -> None:
        self._transfers, self._wait_seconds = transfers, wait_seconds
        self._running = _Slots(count, max_share)
        self._waiting = _Slots(count * _WAITING_PER_SLOT, max_share)
        self._changed = threading.Condition()

    @contextmanager
    def slot(self, holder: Hashable) -> Iterator[None]:
        """Takes a slot for the length of the block. Raises ApiError as `take` does."""
        self.take(holder)
        try:
            yield
        finally:
            self.release(holder)

    def take(self, holder: Hashable) -> None:
        """Takes a slot. Raises ApiError SERVICE_UNAVAILABLE when none is free within `wait_seconds`."""
        with self._changed:
            if not self._running.are_free_for(holder):
                self._wait(holder)
            self._running.take(holder)

    def release(self, holder: Hashable) -> None:
        with self._changed:
            self._running.release(holder)
            self._changed.notify_all()

    def _wait(self, holder: Hashable) -> None:
        if not self._waiting.are_free_for(holder):
            raise self._full()
        self._waiting.take(holder)
        try:
            if not self._changed.wait_for(lambda: self._running.are_free_for(holder), self._wait_seconds):
                raise self._full()
        finally:
            self._waiting.release(holder)

    def _full(self) -> ApiError:
        retry_after_seconds = max(1, int(self._wait_seconds))
        return ApiError(
            SERVICE_UNAVAILABLE,
            f"Too many {self._transfers} are running; try again in {retry_after_seconds} s.",
            retry_after_seconds=retry_after_seconds,
        )
