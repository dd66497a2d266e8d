"""The daily quotas of YouTube: one for uploads, and one in units for everything else (platforms.md 7).

At YouTube a project has them. Here each channel has its own, so that tests do not share them.
"""

import threading
from collections import Counter
from datetime import date
from zoneinfo import ZoneInfo

from simulator.clock import Clock
from simulator.youtube.errors import used_up

_PACIFIC = ZoneInfo("America/Los_Angeles")
#: Units of a write; everything that reads costs one.
WRITE_UNITS = 50


class Quota:
    """Counts what each channel has used on a day in California."""

    def __init__(self, clock: Clock, uploads: int, units: int) -> None:
        self._clock = clock
        self._allowed = {"uploads": uploads, "units": units}
        self._lock = threading.Lock()
        self._used: Counter[tuple[str, str, date]] = Counter()

    def take(self, channel_id: str, bucket: str, count: int = 1) -> None:
        """Counts a use of the quota `bucket`. Raises YouTubeError quotaExceeded when the quota is used up."""
        key = (channel_id, bucket, self._clock.now().astimezone(_PACIFIC).date())
        with self._lock:
            if self._used[key] + count > self._allowed[bucket]:
                raise used_up()
            self._used[key] += count

    def clear(self) -> None:
        """Resets the quotas."""
        with self._lock:
            self._used.clear()
