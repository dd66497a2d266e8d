"""Look-ups of strangers' names with a limit of time: slow names of some leave turns for the others.

A look-up cannot be ended. So a name has one at a time, for all who ask meanwhile, and none is begun that nobody waits
for any more. Where they run is `host_names`' matter.
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
#: At once, those included that nobody waits for any more: three quarters of what `host_names` has room for. Our choice.
_AT_ONCE = 192
_Asked = tuple[Resolve, str, int]
_Answer = Future[Sequence[str]]


class NoTurn(TimeoutError):
    """The time was over before the look-up began."""


class Resolver:
    """One per process: `resolver()`."""

    def __init__(self, at_once: int) -> None:
        self._threads = ThreadPoolExecutor(at_once, thread_name_prefix="look-up")
        self._lock = threading.Lock()
        self._under_way: dict[_Asked, _Answer] = {}
        self._waiting: Counter[_Answer] = Counter()
        #: Hosts that were found, of the public internet.
        self.found = ConnectivityTracker()

    def ask(self, resolve: Resolve, host: str, port: int, timeout_seconds: float) -> Sequence[str]:
        """Raises what `resolve` does; TimeoutError when it takes too long, NoTurn when there was no turn for it."""
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
            if any(map(is_public, addresses)):  # others may stand in a file of ours, or be known to us alone
                self.found.serve(host)
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
