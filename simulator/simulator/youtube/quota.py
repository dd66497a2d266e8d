"""YouTube's daily quotas: the number of uploads, and the units of all other calls (docs/platforms.md, section 7).

At YouTube a quota belongs to a project. Here each channel has its own, so that tests do not affect each other.
"""

import threading
from collections import Counter
from datetime import date
from zoneinfo import ZoneInfo

from simulator.clock import Clock
from simulator.youtube.errors import used_up

_PACIFIC = ZoneInfo("America/Los_Angeles")
#: Units of a write; a read costs one.
WRITE_UNITS = 50


class Quota:
    """Counts the uploads and units that each channel has used in a day, which begins at midnight in California."""

    def __init__(self, clock: Clock, uploads: int, units: int) -> None:
        self._clock = clock
        self._allowed = {"uploads": uploads, "units": units}
        self._lock = threading.Lock()
        self._used: Counter[tuple[str, str, date]] = Counter()

    def take(self, channel_id: str, bucket: str, count: int = 1) -> None:
        """Adds `count` to what the channel has used of a quota today. `bucket` is "uploads" or "units". Raises
        YouTubeError quotaExceeded if the rest of the quota is too small.
        """
        key = (channel_id, bucket, self._clock.now().astimezone(_PACIFIC).date())
        with self._lock:
            if self._used[key] + count > self._allowed[bucket]:
                raise used_up()
            self._used[key] += count

    def clear(self) -> None:
        """Forgets all uses."""
        with self._lock:
            self._used.clear()
