"""The platforms' clock. The control API can shift it; waits and latencies use `ticks`, which is never shifted."""

import time
from datetime import UTC, datetime, timedelta


class Clock:
    """Wall time, which the control API can shift, and monotonic time, which it cannot."""

    def __init__(self) -> None:
        #: Distance to real time.
        self.shift_seconds = 0.0

    def now(self) -> datetime:
        """Returns the time as the platforms see it, in UTC and in whole milliseconds."""
        now = datetime.now(UTC) + timedelta(seconds=self.shift_seconds)
        return now.replace(microsecond=now.microsecond // 1000 * 1000)

    def ticks(self) -> float:
        """Returns monotonic seconds, for measuring how long something has been processing."""
        return time.monotonic()


def rfc3339(moment: datetime) -> str:
    """Formats a time as the control API does: `2026-08-07T12:34:56.000Z`."""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
