"""Limits how many messages that run no tool, such as `initialize`, a token may send to /mcp per minute. Counts in this
process only.
"""

import threading
from collections import Counter
from datetime import datetime

from chassis.db.clock import LocalClock
from contracts.errors import RATE_LIMITED, ApiError

#: Messages per token in a UTC minute. A client that connects sends three, so that twenty may connect.
MOST_A_MINUTE = 60


class MessageLimit:
    """Counts each token's messages in the current minute."""

    def __init__(self, clock: LocalClock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._minute: datetime | None = None
        self._counts: Counter[str] = Counter()

    def count(self, token_id: str) -> None:
        """Counts a message. Raises RATE_LIMITED, with the seconds until the next minute, if it exceeds the limit."""
        now = self._clock.now()
        minute = now.replace(second=0, microsecond=0)
        with self._lock:
            if minute != self._minute:
                self._minute, self._counts = minute, Counter()
            self._counts[token_id] += 1
            is_too_many = self._counts[token_id] > MOST_A_MINUTE
        if is_too_many:
            raise ApiError(RATE_LIMITED, retry_after_seconds=60 - now.second)
