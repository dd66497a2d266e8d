"""Sockets to other servers, with limits of time and bytes, that yield to other green threads.

A green thread yields only when it waits. If a server always has more to send, the thread never waits: no other thread
runs, and no timer. The limit of bytes is needed because `http.client` and OpenSSL read some data without one: heads of
1xx answers, trailers, extensions of chunks, TLS tickets.
"""

import math
import socket
import ssl
import time
from http.client import HTTPException
from typing import Any

from urllib3.util.ssltransport import SSLTransport

#: Limit for certificates and a head. Our choice: servers and proxies allow heads of 8 to 64 KiB.
_HEAD_BYTES = 256 * 1024
#: The least time for each of several addresses. Our choice: a lost SYN is sent again after one second.
_ADDRESS_SECONDS = 1.0
#: Limit per byte of a body, with the framing of its chunks. Our choice: chunks of one byte need six.
_WIRE_BYTES = 8


class MeasuredSocket(socket.socket):
    """A socket with limits of time and bytes, which yields to other green threads even when data is always ready."""

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
        """Sets new limits: one HTTP head and a body of `body_bytes`, until the deadline (monotonic).

        From now on, reads and writes raise TimeoutError after the deadline, and when no byte moves for `read_seconds`
        or `send_seconds`. Reads raise HTTPException beyond the limit of bytes. With `counts_our_time=False`, only the
        time spent waiting for the peer counts: the deadline moves later by the time between reads and writes.
        """
        self._deadline, self._read_seconds, self._send_seconds = deadline, read_seconds, send_seconds
        self._counts_our_time, self._rested_at = counts_our_time, time.monotonic()
        self._has_read = False
        self._left_bytes = _HEAD_BYTES + _WIRE_BYTES * body_bytes

    def extend(self, seconds: float) -> None:
        """Moves the deadline `seconds` later. Called when an answer has announced the size of its body."""
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
        """Sends all data in pieces, so that a peer that reads slowly does not count as silent.

        Sends nothing if `data` is empty. The TLS code passes empty data before each read, and sending it on a
        connection that the peer has closed would raise an error, although the peer's last bytes can still be read.
        """
        with memoryview(data) as view, view.cast("B") as left:
            sent = 0
            while sent < len(left):
                sent += self.send(left[sent:], *arguments)

    def _make_way(self) -> None:
        if self._left_bytes < 0:
            raise HTTPException("the answer is larger than the limit")
        if self._has_read:  # the first read has waited already
            time.sleep(0)
        self._has_read = True
        self._limit(self._read_seconds)

    def _limit(self, silence_seconds: float) -> None:
        """Sets the socket's timeout for the next read or write: `silence_seconds`, or the time until the deadline if
        that is shorter. Raises TimeoutError if the deadline has passed.

        It is set anew each time, because a constant timeout would start again with every byte.
        """
        now = time.monotonic()
        if not self._counts_our_time:
            self._deadline += now - self._rested_at
            self._rested_at = now
        left = self._deadline - now
        if left <= 0:
            raise TimeoutError
        self.settimeout(min(left, silence_seconds))


def seconds_left(deadline: float) -> float:
    """Returns the seconds until the deadline (monotonic), never zero, which would make a socket non-blocking."""
    return max(deadline - time.monotonic(), 0.001)


def turn_seconds(deadline: float, addresses_left: int) -> float:
    """Returns for how many seconds to try the next address of a host, if `addresses_left` have not been tried: a share
    of the time until the deadline (monotonic), so that the other addresses get a try too.
    """
    left = seconds_left(deadline)
    return min(left, max(_ADDRESS_SECONDS, left / addresses_left))


def measured(sock: socket.socket, deadline: float) -> MeasuredSocket:
    """Turns a connected socket into a MeasuredSocket that allows one HTTP head until the deadline."""
    made = MeasuredSocket(sock.family, sock.type, sock.proto, fileno=sock.detach())
    made.allow(deadline)
    return made


def secured(sock: MeasuredSocket, context: ssl.SSLContext, host: str) -> Any:
    """Starts TLS on `sock`. Returns an object with the methods of `ssl.SSLSocket`.

    OpenSSL gets its bytes from `sock`, so the limits of `sock` apply to them. Closes `sock` when the handshake fails.
    """
    try:
        return SSLTransport(sock, context, server_hostname=host)
    except BaseException:
        sock.close()
        raise
