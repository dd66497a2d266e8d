"""FairLimiter for what takes its time: so many at once, some waiting, and a share of both for everybody."""

import threading
from collections import Counter
from collections.abc import Hashable, Iterator
from contextlib import contextmanager

from contracts.errors import SERVICE_UNAVAILABLE, ApiError

#: How many wait for each that is inside. Our choice.
_WAITING = 4


class _Room:
    """Nobody gets more than `greed` times what is left: whoever comes leaves something for the next."""

    def __init__(self, size: int, greed: int) -> None:
        self._left, self._greed = size, greed
        self._held: Counter[Hashable] = Counter()

    def takes(self, who: Hashable) -> bool:
        return self._held[who] < self._left * self._greed

    def enter(self, who: Hashable) -> None:
        self._left -= 1
        self._held[who] += 1

    def leave(self, who: Hashable) -> None:
        self._left += 1
        self._held[who] -= 1
        if not self._held[who]:
            del self._held[who]


class FairLimiter:
    """One per kind of transfer and process. Thread safe. `greed` 1: at most half of all for one, 2: two thirds."""

    def __init__(self, what: str, count: int, *, wait_seconds: float, greed: int) -> None:
        self._what, self._wait_seconds = what, wait_seconds
        self._inside, self._around = _Room(count, greed), _Room(count * _WAITING, greed)
        self._changed = threading.Condition()

    @contextmanager
    def take(self, who: Hashable) -> Iterator[None]:
        """Raises ApiError as `enter`."""
        self.enter(who)
        try:
            yield
        finally:
            self.leave(who)

    def enter(self, who: Hashable) -> None:
        """Raises ApiError SERVICE_UNAVAILABLE when none comes free in time."""
        with self._changed:
            if not self._inside.takes(who):
                self._wait(who)
            self._inside.enter(who)

    def leave(self, who: Hashable) -> None:
        with self._changed:
            self._inside.leave(who)
            self._changed.notify_all()

    def _wait(self, who: Hashable) -> None:
        if not self._around.takes(who):
            raise self._full()
        self._around.enter(who)
        try:
            if not self._changed.wait_for(lambda: self._inside.takes(who), self._wait_seconds):
                raise self._full()
        finally:
            self._around.leave(who)

    def _full(self) -> ApiError:
        message = f"Too many {self._what} at this moment."
        return ApiError(SERVICE_UNAVAILABLE, message, retry_after_seconds=max(1, int(self._wait_seconds)))
