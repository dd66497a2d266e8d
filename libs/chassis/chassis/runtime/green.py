"""Makes the gateway use green threads (gevent), also while it waits for PostgreSQL. `patch` runs before any other
import.

With threads of the operating system, switching between waiting requests took a third of the gateway's CPU; a switch of
green threads takes a few microseconds. Services use eventlet instead, because nameko does (`run.py`).
"""

from collections.abc import Callable
from typing import Any

import gevent
import gevent.monkey
import gevent.socket

#: Longest wait of the gateway for its database: its statements touch single rows, and its requests have ten seconds in
#: all.
_DATABASE_SECONDS = 3.0


def patch() -> None:
    """Makes sockets, locks, threads and waits for PostgreSQL green. Call it before all other imports."""
    gevent.monkey.patch_all()
    from chassis.bus import green_loop
    from chassis.db import waits

    waits.bound(gevent.socket.wait_read, gevent.socket.wait_write, _DATABASE_SECONDS)
    green_loop.install(GeventHub())


class GeventHub:
    """Connects gevent's hub to the I/O loop of the bus (`chassis.bus.green_loop`)."""

    def __init__(self) -> None:
        self.thread = gevent.monkey.get_original("_thread", "get_ident")

    def watch(self, file: int, is_write: bool, ready: Callable[[], object]) -> Callable[[], object]:
        watcher = gevent.get_hub().loop.io(file, 2 if is_write else 1)
        watcher.start(ready)
        close: Callable[[], object] = watcher.close
        return close

    def after(self, seconds: float, callback: Callable[[], object]) -> Callable[[], object]:
        timer = gevent.get_hub().loop.timer(seconds)

        def fire() -> None:
            timer.close()
            callback()

        timer.start(fire)
        close: Callable[[], object] = timer.close
        return close

    def soon(self, callback: Callable[[], object]) -> object:
        return gevent.get_hub().loop.run_callback(callback)

    def pause(self) -> object:
        return gevent.get_hub().switch()

    def current(self) -> Any:
        return gevent.getcurrent()
