"""A modest brake per client address for what needs no token: sign-up. In memory, per process."""

import threading
import time
from collections.abc import Callable

from contracts.errors import RATE_LIMITED, ApiError


class PerMinute:
    """Counts per key in fixed minutes. Thread safe."""

    def __init__(self, limit: int, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._limit = limit
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._minute = -1
        self._counts: dict[object, int] = {}

    def take(self, key: object) -> None:
        """Raises ApiError RATE_LIMITED once the limit is used up; a limit of 0 is none."""
        if self._limit <= 0:
            return
        minute, second = divmod(int(self._monotonic()), 60)
        with self._lock:
            if minute != self._minute:
                self._minute, self._counts = minute, {}
            count = self._counts.get(key, 0) + 1
            self._counts[key] = count
        if count > self._limit:
            raise ApiError(RATE_LIMITED, retry_after_seconds=60 - second)
