"""Green threads for a process that serves HTTP (gevent): patched before any other import, PostgreSQL included.

The services have eventlet's, which nameko brings (`run.py`). Here a request that waits costs a switch of a few
microseconds instead of an operating system's thread: a third of the gateway's CPU was the hand-over between threads.
"""

import gevent.monkey
import gevent.socket

#: The gateway's own statements are small ones about single rows; its requests have ten seconds in all. Our choice.
_DATABASE_SECONDS = 3.0


def patch() -> None:
    """Makes sockets, locks, threads and waiting for PostgreSQL green. Call it before the other imports."""
    gevent.monkey.patch_all()
    from chassis.db import waits

    waits.bound(gevent.socket.wait_read, gevent.socket.wait_write, _DATABASE_SECONDS)
