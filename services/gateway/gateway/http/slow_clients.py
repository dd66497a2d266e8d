"""Whose bodies are still arriving, so that a client that sends too slowly is cut off.

gunicorn waits for a body without end; heads are bounded by its `keepalive`.
"""

import socket
import time
from collections.abc import Callable

#: A socket, by identity.
Socket = socket.socket


class Arrivals:
    """Thread safe: single dictionary operations."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic, side: int = socket.SHUT_RD) -> None:
        self._monotonic = monotonic
        self._side = side
        self._since: dict[Socket, float] = {}

    def begins(self, client: Socket, since: float | None = None) -> None:
        """A body may follow."""
        self._since[client] = self._monotonic() if since is None else since

    def arrived(self, client: Socket | None) -> None:
        """The request is here, or will not be read any further."""
        if client is not None:
            self._since.pop(client, None)

    def cut_late(self, after_seconds: float) -> int:
        """Ends the reading side of connections that take longer; their readers see the end of the stream."""
        now = self._monotonic()
        late = [client for client, since in list(self._since.items()) if now - since > after_seconds]
        for client in late:
            self._since.pop(client, None)
            try:
                client.shutdown(self._side)
            except OSError:
                continue  # it is gone already
        return len(late)


#: Of this process: the worker notes beginnings, the pipeline ends.
SENDING = Arrivals()
