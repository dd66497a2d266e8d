"""Which requests are still arriving, so that a client that sends too slowly is cut off.

gunicorn's threads wait for a client without end; this bounds head and body together.
"""

import socket
import time
from collections.abc import Callable

#: A socket, by identity.
Socket = socket.socket
#: Patience while requests that are still arriving hold more than half of the threads. Our choice: the others
#: must not wait for long, and /healthz is one of them.
CROWDED_SECONDS = 2.0


class Arrivals:
    """Thread safe: single dictionary operations."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic, side: int = socket.SHUT_RD) -> None:
        self._monotonic = monotonic
        self._side = side
        self._since: dict[Socket, float] = {}

    def begins(self, client: Socket, since: float | None = None) -> None:
        """A thread begins to read a request."""
        self._since[client] = self._monotonic() if since is None else since

    def arrived(self, client: Socket | None) -> None:
        """The request is here, or will not be read any further."""
        if client is not None:
            self._since.pop(client, None)

    def cut_late(self, after_seconds: float, threads: int) -> int:
        """Ends the reading side of connections that take longer; their readers see the end of the stream."""
        arriving = list(self._since.items())
        if 2 * len(arriving) > threads:
            after_seconds = min(after_seconds, CROWDED_SECONDS)
        late = [client for client, since in arriving if self._monotonic() - since > after_seconds]
        for client in late:
            self._since.pop(client, None)
            try:
                client.shutdown(self._side)
            except OSError:
                continue  # it is gone already
        return len(late)


#: Of this process: the worker notes beginnings, the pipeline ends.
ARRIVALS = Arrivals()
