"""A fast webhook receiver: `python -m bench.receiver` prints its URL and records every delivery.

It answers POST /fast… at once and never answers POST /hang…. GET /seen returns the deliveries as a JSON array of
[path, event id, delivery id, attempt, Unix seconds]; DELETE /seen deletes them.
"""

import asyncio
import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import requests

_EVENT = re.compile(rb'^\{"id":"([^"]+)"')
_HEADER = re.compile(rb"\r\n(content-length|x-svc-delivery|x-svc-attempt): ([^\r]*)", re.IGNORECASE)
_OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
_seen: list[tuple[bytes, bytes, bytes, bytes, float]] = []


class Receiver(asyncio.Protocol):
    """The server's side of one HTTP connection. It answers a request when its head and body are complete."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._buffer = b""

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            head = self._buffer[: end + 2]
            fields = {name.lower(): value for name, value in _HEADER.findall(head)}
            length = int(fields.get(b"content-length", b"0"))
            if len(self._buffer) < end + 4 + length:
                return
            body, self._buffer = self._buffer[end + 4 : end + 4 + length], self._buffer[end + 4 + length :]
            method, path, _ = head.split(b" ", 2)
            self._answer(method, path, fields, body)

    def _answer(self, method: bytes, path: bytes, fields: dict[bytes, bytes], body: bytes) -> None:
        if path == b"/seen":
            self._tell(method)
            return
        found = _EVENT.match(body)
        event_id = found.group(1) if found else b""
        delivery, attempt = fields.get(b"x-svc-delivery", b""), fields.get(b"x-svc-attempt", b"0")
        _seen.append((path, event_id, delivery, attempt, time.time()))
        if not path.startswith(b"/hang"):
            self._transport.write(_OK)

    def _tell(self, method: bytes) -> None:
        rows = [(p.decode(), e.decode(), d.decode(), int(a), at) for p, e, d, a, at in _seen]
        if method == b"DELETE":
            _seen.clear()
            rows = []
        body = json.dumps(rows).encode()
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        self._transport.write(head.encode() + body)


class Running:
    """A client of a receiver that runs in a separate process."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._session = requests.Session()

    def seen(self) -> list[tuple[str, str, str, int, float]]:
        return [tuple(row) for row in self._session.get(f"{self.address}/seen", timeout=30).json()]

    def forget(self) -> None:
        self._session.delete(f"{self.address}/seen", timeout=30)


@contextmanager
def running() -> Iterator[Running]:
    command = [sys.executable, "-m", "bench.receiver"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield Running(process.stdout.readline().strip())
        finally:
            process.kill()


async def _serve() -> None:
    server = await asyncio.get_running_loop().create_server(Receiver, "127.0.0.1", 0, backlog=1024)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve())
