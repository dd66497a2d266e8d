"""The clock of the simulated platforms.

The control API can shift `now`. Processing times and latencies are measured with `ticks`, which is never shifted.
"""

import time
from datetime import UTC, datetime, timedelta


class Clock:
    """Gives the time of day, which the control API can shift, and monotonic time, which it cannot shift."""

    def __init__(self) -> None:
        #: Seconds that are added to real time.
        self.shift_seconds = 0.0

    def now(self) -> datetime:
        """Returns the platforms' time in UTC, including the shift, in whole milliseconds."""
        now = datetime.now(UTC) + timedelta(seconds=self.shift_seconds)
        return now.replace(microsecond=now.microsecond // 1000 * 1000)

    def ticks(self) -> float:
        """Returns monotonic time in seconds, to measure how long something has been processing."""
        return time.monotonic()


def rfc3339(moment: datetime) -> str:
    """Formats a UTC time as the control API does: `2026-08-07T12:34:56.000Z`."""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
