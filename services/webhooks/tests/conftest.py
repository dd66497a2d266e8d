"""A live receiver of webhooks that answers as the test says."""

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

import pytest

PATIENCE_SECONDS = 30.0


class Got(NamedTuple):
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def attempt(self) -> int:
        return int(self.headers["X-Svc-Attempt"])


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        receiver: Receiver = self.server  # type: ignore[assignment]
        size = int(self.headers["Content-Length"])
        body = self.rfile.read(size)
        if len(body) < size:  # the sender died in the middle
            self.close_connection = True
            return
        receiver.answer(self, Got(self.path, dict(self.headers), body))

    def send(self, status: int, body: bytes = b"ok", **headers: str) -> None:
        self.send_response(status)
        for name, value in ({"Content-Length": str(len(body))} | headers).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Logs nothing."""


class Receiver(ThreadingHTTPServer):
    """Records the requests. `respond(handler, request)` answers each; by default every request is acknowledged."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.got: list[Got] = []
        self.at_once = self.most_at_once = 0
        self.respond: Callable[[Any, Got], None] = lambda handler, got: handler.send(200)
        self.changed = threading.Condition()
        self.over = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def answer(self, handler: _Handler, got: Got) -> None:
        with self.changed:
            self.got.append(got)
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
            self.changed.notify_all()
        try:
            self.respond(handler, got)
        finally:
            with self.changed:
                self.at_once -= 1

    def respond_with(self, status: int) -> None:
        self.respond = lambda handler, got: handler.send(status)

    def hang(self, path: str = "/") -> None:
        """Leaves requests to this path unanswered until the test ends."""

        def respond(handler: _Handler, got: Got) -> None:
            if got.path.startswith(path):
                self.over.wait(PATIENCE_SECONDS)
            handler.send(200)

        self.respond = respond

    def await_count(self, count: int, path: str = "/") -> list[Got]:
        """Waits for `count` requests to this path, and returns all of them."""

        def found() -> list[Got]:
            return [one for one in self.got if one.path.startswith(path)]

        with self.changed:
            assert self.changed.wait_for(lambda: len(found()) >= count, PATIENCE_SECONDS), len(found())
            return found()

    def handle_error(self, *_: object) -> None:
        """Ignores errors, because some tests close the connection early."""


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.over.set()
        running.shutdown()
        thread.join()
