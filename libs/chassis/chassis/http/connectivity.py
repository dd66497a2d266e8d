"""Whether others get what one goes without: then it is not wanting on our side."""

import math
import time


class ConnectivityTracker:
    """Who was served last, and who before that."""

    def __init__(self) -> None:
        self._last = self._before = ("", -math.inf)

    def serve(self, who: str) -> None:
        if who != self._last[0]:
            self._before = self._last
        self._last = who, time.monotonic()

    def served_at(self, who: str) -> float:
        """When (monotonic) anybody but `who` was last; minus infinity: never."""
        last_who, last_at = self._last
        return self._before[1] if last_who == who else last_at
