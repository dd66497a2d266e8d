"""The platforms' own clock. It shifts on request; waits and latencies run on `ticks`, which does not."""

import time
from datetime import UTC, datetime, timedelta


class Clock:
    """Wall time that can be shifted, and steady time that cannot."""

    def __init__(self) -> None:
        #: Distance to real time.
        self.shift_seconds = 0.0

    def now(self) -> datetime:
        """Aware UTC time as the platforms see it, in whole milliseconds."""
        now = datetime.now(UTC) + timedelta(seconds=self.shift_seconds)
        return now.replace(microsecond=now.microsecond // 1000 * 1000)

    def ticks(self) -> float:
        """Seconds of steady time, for how long something has been processing."""
        return time.monotonic()


def rfc3339(moment: datetime) -> str:
    """`2026-08-07T12:34:56.000Z`: what the control API answers."""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
