"""DNS lookups of names given by strangers, with a time limit, so that slow names do not block others.

A running lookup cannot be cancelled. So at most one lookup runs for each name, and all callers share it. A lookup whose
callers have all given up is not begun. `host_names` decides where lookups run.
"""

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache

from chassis.http.addresses import is_public
from chassis.http.connectivity import ConnectivityTracker

#: host and port -> addresses as text; raises OSError.
Resolve = Callable[[str, int], Sequence[str]]
#: Concurrent lookups, including abandoned ones: three quarters of `host_names`' limit, which leaves some to other
#: names.
_AT_ONCE = 192
_Asked = tuple[Resolve, str, int]
_Answer = Future[Sequence[str]]


class NoTurn(TimeoutError):
    """Raised when the lookup did not begin before the timeout, because other lookups used all threads."""


class Resolver:
    """Looks up host names in a limited number of threads. A process has one: `resolver()`."""

    def __init__(self, at_once: int) -> None:
        self._threads = ThreadPoolExecutor(at_once, thread_name_prefix="look-up")
        self._lock = threading.Lock()
        self._under_way: dict[_Asked, _Answer] = {}
        self._waiting: Counter[_Answer] = Counter()
        #: Names of the public internet that were resolved.
        self.found = ConnectivityTracker()

    def ask(self, resolve: Resolve, host: str, port: int, timeout_seconds: float) -> Sequence[str]:
        """Returns the addresses that `resolve` finds for a host.

        Raises TimeoutError when the lookup takes too long, NoTurn if it did not even begin in time, and the errors of
        `resolve`.
        """
        asked = (resolve, host, port)
        with self._lock:
            if asked not in self._under_way:
                self._under_way[asked] = self._threads.submit(self._look_up, asked)
            answer = self._under_way[asked]
            self._waiting[answer] += 1
        try:
            return answer.result(timeout_seconds)
        except TimeoutError:
            if answer.running() or answer.done():
                raise
            raise NoTurn from None
        finally:
            with self._lock:
                self._leave(asked, answer)

    def _look_up(self, asked: _Asked) -> Sequence[str]:
        resolve, host, port = asked
        try:
            addresses = resolve(host, port)
            if any(
                map(is_public, addresses)
            ):  # private names may come from /etc/hosts, and prove nothing about the network
                self.found.succeeded(host)
            return addresses
        finally:
            with self._lock:
                del self._under_way[asked]

    def _leave(self, asked: _Asked, answer: _Answer) -> None:
        self._waiting[answer] -= 1
        if not self._waiting[answer]:
            del self._waiting[answer]
            if answer.cancel():
                del self._under_way[asked]


@cache
def resolver() -> Resolver:
    return Resolver(_AT_ONCE)
