"""Sockets to other people's servers: limited in time and in bytes, and read in turns with all other work.

A green thread makes way only where it waits. A server that always has more to send makes it wait nowhere, so that no
timer runs either; and `http.client` and OpenSSL read without end what is no part of an answer: heads that say "go on",
trailers, extensions of chunks, TLS tickets.
"""

import math
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
    _read_seconds = _send_seconds = math.inf
    _counts_our_time = True
    _rested_at = 0.0
    _left_bytes = 0.0
    _has_read = False

    def allow(
        self,
        deadline: float,
        body_bytes: float = 0,
        *,
        read_seconds: float = math.inf,
        send_seconds: float = math.inf,
        counts_our_time: bool = True,
    ) -> None:
        """Until the deadline (of `time.monotonic`) a head may come, and a body of so many bytes.

        From now on reading and writing raise TimeoutError past the deadline, and where no byte moves for
        `read_seconds` or `send_seconds`; HTTPException past the measure. Without `counts_our_time` the deadline moves
        on while nobody reads or writes: only the time for which the peer keeps us waiting counts.
        """
        self._deadline, self._read_seconds, self._send_seconds = deadline, read_seconds, send_seconds
        self._counts_our_time, self._rested_at = counts_our_time, time.monotonic()
        self._has_read = False
        self._left_bytes = _HEAD_BYTES + _WIRE_BYTES * body_bytes

    def extend(self, seconds: float) -> None:
        """Moves the deadline on, for a body whose size is known now."""
        self._deadline += seconds

    def recv(self, *arguments: Any) -> bytes:
        self._make_way()
        data = super().recv(*arguments)
        self._rested_at = time.monotonic()
        self._left_bytes -= len(data)
        return data

    def recv_into(self, *arguments: Any) -> int:
        self._make_way()
        count = super().recv_into(*arguments)
        self._rested_at = time.monotonic()
        self._left_bytes -= count
        return count

    def send(self, *arguments: Any) -> int:
        self._limit(self._send_seconds)
        count = super().send(*arguments)
        self._rested_at = time.monotonic()
        return count

    def sendall(self, data: Any, *arguments: Any) -> None:
        """Sends piece by piece, so that a peer that reads slowly is not taken for a silent one.

        Nothing is not sent: TLS does so before each read, and where the peer has hung up that raises instead of
        giving what it said before.
        """
        with memoryview(data) as view, view.cast("B") as left:
            sent = 0
            while sent < len(left):
                sent += self.send(left[sent:], *arguments)

    def _make_way(self) -> None:
        if self._left_bytes < 0:
            raise HTTPException("more came than an answer is made of")
        if self._has_read:  # the first piece is one that was waited for
            time.sleep(0)
        self._has_read = True
        self._limit(self._read_seconds)

    def _limit(self, silence_seconds: float) -> None:
        """The time-out of a socket starts anew with every byte; this one does not."""
        now = time.monotonic()
        if not self._counts_our_time:
            self._deadline += now - self._rested_at
            self._rested_at = now
        left = self._deadline - now
        if left <= 0:
            raise TimeoutError
        self.settimeout(min(left, silence_seconds))


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
