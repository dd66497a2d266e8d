"""Green threads (gevent) for a process that serves HTTP, PostgreSQL included. Patch before any other import.

Services use eventlet, because nameko does (`run.py`). In the gateway, a waiting request costs a switch of a few
microseconds instead of a thread of the operating system: switching threads took a third of its CPU.
"""

import gevent.monkey
import gevent.socket

#: The gateway's own statements are small and about single rows; its requests have ten seconds in all. Our choice.
_DATABASE_SECONDS = 3.0


def patch() -> None:
    """Makes sockets, locks, threads and waits for PostgreSQL green. Call it before all other imports."""
    gevent.monkey.patch_all()
    from chassis.db import waits

    waits.bound(gevent.socket.wait_read, gevent.socket.wait_write, _DATABASE_SECONDS)
