"""Cuts off clients that send or take bytes too slowly.

Each connection is watched while the client has to send or take its next bytes. gunicorn limits the time of a request's
head (`keepalive`), but waits without end for a body and for an answer to be taken.
"""

import socket
import time
from collections.abc import Callable


class SlowClients:
    """The connections that wait for their clients, and since when. Thread-safe: single dictionary operations."""

    def __init__(self, side: int, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._side = side
        self._monotonic = monotonic
        self._since: dict[socket.socket, float] = {}

    def watch(self, client: socket.socket, since: float | None = None) -> None:
        """Records that a connection waits for its client, from now on or since `since` (monotonic)."""
        self._since[client] = self._monotonic() if since is None else since

    def forget(self, client: socket.socket | None) -> None:
        """Records that a connection no longer waits for its client."""
        if client is not None:
            self._since.pop(client, None)

    def cut_late(self, after_seconds: float) -> int:
        """Shuts down connections that have waited for their clients for more than `after_seconds`. Returns how many.

        A thread that waits for such a connection sees the end of its stream.
        """
        now = self._monotonic()
        late = [client for client, since in list(self._since.items()) if now - since > after_seconds]
        for client in late:
            self._since.pop(client, None)
            try:
                client.shutdown(self._side)
            except OSError:
                continue  # the connection is closed already
        return len(late)


#: Clients of this process that are sending a body; one that is cut can still read its answer.
SENDING = SlowClients(socket.SHUT_RD)
#: Clients that are to take the next block of a download.
RECEIVING = SlowClients(socket.SHUT_RDWR)
