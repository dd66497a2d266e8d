"""Sockets to strangers' servers: what comes is limited in time and in bytes, and is taken in turns with all other work.

A green thread makes way only where it waits. A server that always has more to send makes it wait nowhere, so that no
timer runs either; and `http.client` and OpenSSL read without end what is no part of an answer: heads that say "go on",
trailers, extensions of chunks, TLS tickets.
"""

import socket
import ssl
import time
from http.client import HTTPException
from typing import Any

from urllib3.util.ssltransport import SSLTransport

#: Certificates, a head. Our choice: servers and proxies allow heads of 8 to 64 KiB.
_HEAD_BYTES = 256 * 1024
#: What may come for each byte of a body, with the sizes of its chunks. Our choice: chunks of one byte need six.
_WIRE_BYTES = 8


class MeasuredSocket(socket.socket):
    """Green where sockets are, also if nothing makes it wait."""

    _deadline = 0.0
    _left_bytes = 0
    _has_read = False

    def allow(self, deadline: float, body_bytes: int = 0) -> None:
        """Until then a head may come, and a body of so many bytes.

        From now on reading and writing raise TimeoutError past the deadline, HTTPException past the measure.
        """
        self._deadline, self._has_read = deadline, False
        self._left_bytes = _HEAD_BYTES + _WIRE_BYTES * body_bytes

    def recv(self, *arguments: Any) -> bytes:
        self._make_way()
        data = super().recv(*arguments)
        self._left_bytes -= len(data)
        return data

    def recv_into(self, *arguments: Any) -> int:
        self._make_way()
        count = super().recv_into(*arguments)
        self._left_bytes -= count
        return count

    def send(self, *arguments: Any) -> int:
        self._limit()
        return super().send(*arguments)

    def sendall(self, data: Any, *arguments: Any) -> None:
        """Nothing is not sent: TLS does so before each read, and where the peer has hung up that raises instead of
        giving what it said before.
        """
        self._limit()
        if data:
            super().sendall(data, *arguments)

    def _make_way(self) -> None:
        if self._left_bytes < 0:
            raise HTTPException("more came than an answer is made of")
        if self._has_read:  # the first piece is one that was waited for
            time.sleep(0)
        self._has_read = True
        self._limit()

    def _limit(self) -> None:
        """The time-out of a socket starts anew with every byte; this one does not."""
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self.settimeout(left)


def measured(sock: socket.socket, deadline: float) -> MeasuredSocket:
    """The connection of `sock`, which is left without it; a head is allowed."""
    made = MeasuredSocket(sock.family, sock.type, sock.proto, fileno=sock.detach())
    made.allow(deadline)
    return made


def secured(sock: MeasuredSocket, context: ssl.SSLContext, host: str) -> Any:
    """TLS that takes every byte by way of `sock`; OpenSSL would go on reading by itself. As a socket of `ssl`."""
    try:
        return SSLTransport(sock, context, server_hostname=host)
    except BaseException:
        sock.close()
        raise
