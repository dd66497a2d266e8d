"""Who a token belongs to, kept for a few seconds (architecture "Speed").

A `caller.changed` broadcast drops an entry at once; a lost broker connection drops all. Refusals are not
kept: a token that was just created works at once.
"""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future

from contracts.accounts import Authenticated
from contracts.events import CallerChanged

#: Entries; past it the cache starts anew. Our choice: about 20 MB.
_MOST_ENTRIES = 10_000


class CallerCache:
    """Thread safe. Requests that miss the same token at the same moment share one call."""

    def __init__(
        self,
        authenticate: Callable[[str], Authenticated],
        ttl_seconds: float,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._authenticate = authenticate
        self._ttl_seconds = ttl_seconds
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._entries: dict[str, tuple[float, Authenticated]] = {}
        self._flights: dict[str, Future[Authenticated]] = {}

    def find(self, token_sha256: str) -> Authenticated:
        """Raises ApiError as `accounts.authenticate` does."""
        entry = self._entries.get(token_sha256)
        if entry is not None and entry[0] > self._monotonic():
            return entry[1]
        with self._lock:
            flight = self._flights.get(token_sha256)
            if flight is not None:
                mine = False
            else:
                mine, flight = True, Future()
                self._flights[token_sha256] = flight
        return self._load(token_sha256, flight) if mine else flight.result()

    def _load(self, token_sha256: str, flight: "Future[Authenticated]") -> Authenticated:
        try:
            found = self._authenticate(token_sha256)
        except BaseException as error:
            self._land(token_sha256, flight, None)
            flight.set_exception(error)
            raise
        self._land(token_sha256, flight, found)
        flight.set_result(found)
        return found

    def _land(self, token_sha256: str, flight: "Future[Authenticated]", found: Authenticated | None) -> None:
        """Keeps what was found, unless something changed on the way: then it may be the state before."""
        with self._lock:
            if self._flights.get(token_sha256) is not flight:
                return
            del self._flights[token_sha256]
            if found is None:
                return
            if len(self._entries) >= _MOST_ENTRIES:
                self._entries = {}
            self._entries[token_sha256] = (self._monotonic() + self._ttl_seconds, found)

    def drop(self, change: CallerChanged) -> None:
        """Forgets every entry of these tokens and accounts, and all answers on their way."""
        tokens, accounts = set(change.token_ids), set(change.account_ids)
        with self._lock:
            self._flights = {}
            self._entries = {
                key: entry
                for key, entry in self._entries.items()
                if entry[1].token.id not in tokens
                and not accounts & {entry[1].caller.account_id, entry[1].caller.user_id}
            }

    def clear(self) -> None:
        """Forgets everything: broadcasts may have been missed."""
        with self._lock:
            self._entries, self._flights = {}, {}
