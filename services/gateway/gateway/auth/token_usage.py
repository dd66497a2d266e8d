"""Counts the requests of each token, with the time of the last one, and sends both to accounts in batches."""

import threading
from collections.abc import Callable
from datetime import datetime

from contracts.accounts import RecordUse, TokenUse
from contracts.errors import ApiError

#: Seconds between batches: a crash loses at most the counts of this time, and `last_used_at` is late by it.
INTERVAL_SECONDS = 2.0
#: Tokens in one call.
_MAX_BATCH = 500


class TokenUsage:
    """Counts the requests of each token until the counts are sent. Thread-safe."""

    def __init__(self, record_use: Callable[[RecordUse], object]) -> None:
        self._record_use = record_use
        self._lock = threading.Lock()
        self._uses: dict[str, tuple[int, datetime]] = {}

    def note(self, token_id: str, at: datetime) -> None:
        """Counts one request of a token."""
        with self._lock:
            count = self._uses.get(token_id, (0, at))[0]
            self._uses[token_id] = (count + 1, at)

    def flush(self) -> None:
        """Sends the counts to accounts. Counts that accounts did not take are sent again next time."""
        with self._lock:
            uses, self._uses = self._uses, {}
        rows = [
            TokenUse(
                token_id=token_id,
                count=count,
                last_used_at=at.replace(microsecond=at.microsecond // 1000 * 1000),
            )
            for token_id, (count, at) in uses.items()
        ]
        while rows:
            batch, rows = rows[:_MAX_BATCH], rows[_MAX_BATCH:]
            try:
                self._record_use(RecordUse(uses=tuple(batch)))
            except ApiError:
                self._take_back(batch + rows)
                return

    def _take_back(self, rows: list[TokenUse]) -> None:
        with self._lock:
            for row in rows:
                count, at = self._uses.get(row.token_id, (0, row.last_used_at))
                self._uses[row.token_id] = (count + row.count, max(at, row.last_used_at))
