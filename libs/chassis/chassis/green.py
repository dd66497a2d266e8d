"""Green threads for a process that serves HTTP (gevent): patched before any other import, PostgreSQL included.

The services have eventlet's, which nameko brings (`run.py`). Here a request that waits costs a switch of a few
microseconds instead of an operating system's thread: a third of the gateway's CPU was the hand-over between threads.
"""

from typing import Any

import gevent.monkey
import gevent.socket


def patch() -> None:
    """Makes sockets, locks, threads and waiting for PostgreSQL green. Call it before the other imports."""
    gevent.monkey.patch_all()
    # psycopg2 waits in C, which no patch reaches: it asks this instead.
    import psycopg2.extensions

    psycopg2.extensions.set_wait_callback(_wait)


def _wait(connection: Any) -> None:
    """Until the connection has its answer, others run."""
    from psycopg2.extensions import POLL_OK, POLL_READ

    while (state := connection.poll()) != POLL_OK:
        if state == POLL_READ:
            gevent.socket.wait_read(connection.fileno())
        else:
            gevent.socket.wait_write(connection.fileno())
