"""Which requests are still arriving, so that a client that sends too slowly is cut off.

gunicorn's threads wait for a client without end; this bounds head and body together.
"""

import socket
import time
from collections.abc import Callable

#: A socket, by identity.
Socket = socket.socket


class Arrivals:
    """Thread safe: single dictionary operations."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._since: dict[Socket, float] = {}

    def begins(self, client: Socket) -> None:
        """A thread begins to read a request."""
        self._since[client] = self._monotonic()

    def arrived(self, client: Socket | None) -> None:
        """The request is here, or will not be read any further."""
        if client is not None:
            self._since.pop(client, None)

    def cut_late(self, after_seconds: float) -> int:
        """Ends the reading side of connections that take longer; their readers see the end of the stream."""
        late = [
            client for client, since in list(self._since.items()) if self._monotonic() - since > after_seconds
        ]
        for client in late:
            self._since.pop(client, None)
            try:
                client.shutdown(socket.SHUT_RD)
            except OSError:
                continue  # it is gone already
        return len(late)


#: Of this process: the worker notes beginnings, the pipeline ends.
ARRIVALS = Arrivals()
