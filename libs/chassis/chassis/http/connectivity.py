"""Finds out whether a failure is one host's or our own network's: it is the host's if other hosts still succeed."""

import math
import time


class ConnectivityTracker:
    """Remembers the last two hosts that succeeded, and when."""

    def __init__(self) -> None:
        self._last = self._before = ("", -math.inf)

    def succeeded(self, host: str) -> None:
        if host != self._last[0]:
            self._before = self._last
        self._last = host, time.monotonic()

    def others_succeeded_at(self, host: str) -> float:
        """Returns when a host other than this one last succeeded (monotonic seconds); minus infinity if none has."""
        last_host, last_at = self._last
        return self._before[1] if last_host == host else last_at
