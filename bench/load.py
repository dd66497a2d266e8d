"""A closed-loop HTTP load: N keep-alive connections. Each sends its next request as soon as it has the response to the
last one.

Runs in a separate process (`python -m bench.load`) with one selector loop over plain sockets, so that it uses little
of the two cores itself.
"""

import selectors
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from urllib.parse import urlsplit

import msgspec

from contracts.record import Record

_END_OF_HEAD = b"\r\n\r\n"


class Variant(Record):
    """The parts in which the requests of one load differ."""

    headers: dict[str, str] = {}
    body: str = ""


class Load(Record):
    """The description of a load. It sends the variants in turn, and replaces `{n}` in path, headers and body by the
    number of the request.
    """

    url: str
    connections: int
    seconds: float
    method: str = "GET"
    headers: dict[str, str] = {}
    variants: tuple[Variant, ...] = ()
    warm_up_seconds: float = 1.0
    #: The number before that of the first request. With different numbers, two runs use different keys.
    first: int = 0


class Measured(Record):
    """The result of a load: requests per second, latencies in milliseconds, and the number of responses by HTTP
    status.
    """

    per_second: float
    median_ms: float
    p99_ms: float
    statuses: dict[str, int]


def run(load: Load) -> Measured:
    """Runs the load in a separate process and returns its result."""

    done = subprocess.run(
        [sys.executable, "-m", "bench.load"],
        input=msgspec.json.encode(load),
        stdout=subprocess.PIPE,
        check=True,
    )
    return msgspec.json.decode(done.stdout, type=Measured)


class _Connection:
    def __init__(self, address: tuple[str, int], request: Callable[[], bytes]) -> None:
        self.socket = socket.create_connection(address)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._request = request
        self._received = b""
        self._sent_at = 0.0

    def send(self) -> None:
        self._received = b""
        self._sent_at = time.perf_counter()
        self.socket.sendall(self._request())

    def receive(self) -> tuple[str, float] | None:
        """Returns the status and the latency in seconds of the response, or None while the response is incomplete."""
        data = self.socket.recv(262_144)
        if not data:
            raise ConnectionError("the server closed the connection")
        self._received += data
        head_end = self._received.find(_END_OF_HEAD)
        if head_end < 0:
            return None
        length = _content_length(self._received[:head_end])
        if len(self._received) < head_end + 4 + length:
            return None
        return self._received[9:12].decode(), time.perf_counter() - self._sent_at


def _content_length(head: bytes) -> int:
    lowered = head.lower()
    at = lowered.find(b"content-length:")
    if at < 0:
        return 0
    return int(lowered[at + 15 :].split(b"\r\n", 1)[0])


def _serve(load: Load) -> Measured:
    parts = urlsplit(load.url)
    number = load.first
    variants = load.variants or (Variant(),)

    def request() -> bytes:
        nonlocal number
        number += 1
        variant = variants[number % len(variants)]
        body = variant.body.replace("{n}", str(number)).encode()
        headers = {
            "Host": parts.netloc,
            "Content-Type": "application/json",
            **load.headers,
            **variant.headers,
        }
        if body:
            headers["Content-Length"] = str(len(body))
        target = parts.path + (f"?{parts.query}" if parts.query else "")
        lines = [f"{load.method} {target} HTTP/1.1", *(f"{k}: {v}" for k, v in headers.items()), "", ""]
        return "\r\n".join(lines).replace("{n}", str(number)).encode() + body

    selector = selectors.DefaultSelector()
    for _ in range(load.connections):
        connection = _Connection((parts.hostname or "", parts.port or 80), request)
        selector.register(connection.socket, selectors.EVENT_READ, connection)
        connection.send()
    counted_from = time.perf_counter() + load.warm_up_seconds
    end = counted_from + load.seconds
    latencies: list[float] = []
    statuses: dict[str, int] = {}
    while (now := time.perf_counter()) < end:
        for key, _ in selector.select(0.1):
            answer = key.data.receive()
            if answer is None:
                continue
            if now >= counted_from:
                latencies.append(answer[1])
                statuses[answer[0]] = statuses.get(answer[0], 0) + 1
            key.data.send()
    latencies.sort()
    return Measured(
        per_second=len(latencies) / load.seconds,
        median_ms=latencies[len(latencies) // 2] * 1000 if latencies else 0.0,
        p99_ms=latencies[int(len(latencies) * 0.99)] * 1000 if latencies else 0.0,
        statuses=statuses,
    )


if __name__ == "__main__":
    measured = _serve(msgspec.json.decode(sys.stdin.buffer.read(), type=Load))
    sys.stdout.buffer.write(msgspec.json.encode(measured))
