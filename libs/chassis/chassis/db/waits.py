"""Limits how long green threads wait for PostgreSQL, because a frozen connection never reports an error.

psycopg2 waits in C, where no monkey patch applies, but it calls the wait callback that is set here. When the callback
raises, the connection is closed, and the pool treats it as an outage.
"""

from collections.abc import Callable
from typing import Any

import psycopg2
from psycopg2 import extensions

#: Waits for a file descriptor: (descriptor, seconds, error to raise after them).
Wait = Callable[[int, float, Exception], object]


def bound(wait_read: Wait, wait_write: Wait, seconds: float) -> None:
    """Limits every wait for a database in this process to `seconds`. A longer wait raises psycopg2.OperationalError."""

    def wait(connection: Any) -> None:
        while (state := connection.poll()) != extensions.POLL_OK:
            late = psycopg2.OperationalError(f"the database was silent for {seconds:.0f} s")
            (wait_read if state == extensions.POLL_READ else wait_write)(connection.fileno(), seconds, late)

    extensions.set_wait_callback(wait)
