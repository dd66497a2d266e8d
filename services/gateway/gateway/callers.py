"""Finds the caller to whom a request's token belongs, and counts how often each token is used.

`CallerCache` keeps the callers of tokens for a few seconds (docs/architecture.md, "Speed"). A `caller.changed`
broadcast drops an entry at once. A lost connection to the broker drops all entries, because broadcasts may have been
missed. Refusals are not cached, so that a new token works at once.

`TokenUsage` counts requests, and sends the counts in batches.
"""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from datetime import datetime

from contracts.accounts import Authenticate, Authenticated, RecordUse, TokenUse
from contracts.errors import ApiError
from contracts.events import CallerChanged

#: A cache with this many entries is emptied. Our choice: about 20 MB.
_MOST_ENTRIES = 10_000
#: Seconds between batches: a crash loses at most the counts of this time, and `last_used_at` is late by it.
INTERVAL_SECONDS = 2.0
#: Tokens in one call.
_MAX_BATCH = 500


class CallerCache:
    """Finds the callers of tokens and caches them. Simultaneous requests with the same token share one call.
    Thread-safe."""

    def __init__(
        self,
        authenticate: Callable[[Authenticate], Authenticated],
        ttl_seconds: float,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._authenticate = authenticate
        self._ttl_seconds = ttl_seconds
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._entries: dict[str, tuple[float, Authenticated]] = {}
        #: Calls to the service `accounts` that have not been answered, by token.
        self._calls: dict[str, Future[Authenticated]] = {}

    def find(self, token_sha256: str) -> Authenticated:
        """Returns the data of a token and its caller. Raises the errors of `accounts.authenticate`."""
        entry = self._entries.get(token_sha256)
        if entry is not None and entry[0] > self._monotonic():
            return entry[1]
        with self._lock:
            call = self._calls.get(token_sha256)
            if call is not None:
                is_first = False
            else:
                is_first, call = True, Future()
                self._calls[token_sha256] = call
        return self._load(token_sha256, call) if is_first else call.result()

    def _load(self, token_sha256: str, call: "Future[Authenticated]") -> Authenticated:
        try:
            found = self._authenticate(Authenticate(token_sha256=token_sha256))
        except BaseException as error:
            self._keep(token_sha256, call, None)
            call.set_exception(error)
            raise
        self._keep(token_sha256, call, found)
        call.set_result(found)
        return found

    def _keep(self, token_sha256: str, call: "Future[Authenticated]", found: Authenticated | None) -> None:
        """Caches the caller that a call has found. Does not cache it if `drop` or `clear` ran during the call, because
        it may be out of date.
        """
        with self._lock:
            if self._calls.get(token_sha256) is not call:
                return
            del self._calls[token_sha256]
            if found is None:
                return
            if len(self._entries) >= _MOST_ENTRIES:
                self._entries = {}
            self._entries[token_sha256] = (self._monotonic() + self._ttl_seconds, found)

    def drop(self, change: CallerChanged) -> None:
        """Removes the entries of the changed tokens and accounts. Answers to calls that are still under way are not
        cached, because they may be out of date."""
        tokens, accounts = set(change.token_ids), set(change.account_ids)
        with self._lock:
            self._calls = {}
            self._entries = {
                key: entry
                for key, entry in self._entries.items()
                if entry[1].token.id not in tokens
                and not accounts & {entry[1].caller.account_id, entry[1].caller.user_id}
            }

    def clear(self) -> None:
        """Removes all entries. Answers to calls that are still under way are not cached."""
        with self._lock:
            self._entries, self._calls = {}, {}


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
        """Sends the counts to the service `accounts`. Counts that it did not accept are sent again next time."""
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
