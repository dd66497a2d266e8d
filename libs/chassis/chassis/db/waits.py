"""How long green threads wait for PostgreSQL: a frozen link tells nobody, and who waits for ever holds up others.

psycopg2 waits in C, which no patch reaches: it asks the callback set here instead. One that raises has the connection
closed, which the pool takes for an outage.
"""

from collections.abc import Callable
from typing import Any

import psycopg2
from psycopg2 import extensions

#: (file descriptor, seconds, what to raise after them)
Wait = Callable[[int, float, Exception], object]


def bound(wait_read: Wait, wait_write: Wait, seconds: float) -> None:
    """From now on every wait for a database of this process ends by then, with psycopg2.OperationalError."""

    def wait(connection: Any) -> None:
        while (state := connection.poll()) != extensions.POLL_OK:
            late = psycopg2.OperationalError(f"the database was silent for {seconds:.0f} s")
            (wait_read if state == extensions.POLL_READ else wait_write)(connection.fileno(), seconds, late)

    extensions.set_wait_callback(wait)
