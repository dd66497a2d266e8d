"""A receiver of webhook posts, and a function that posts to it over a WebhookConnection."""

import http.server
import threading
from typing import Any

import pytest

from chassis.http.addresses import AllowedNetwork, parse_allowed_network
from chassis.http.webhook_connection import Answered, PostFailed, PostProblem, WebhookConnection

PUBLIC, HOST = "93.184.216.34", "hooks.example.com"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.seen.append((self.client_address, self.headers["Host"], self.path, body))  # type: ignore[attr-defined]
        getattr(self, "on_" + self.path.strip("/"))()

    def _send(self, status: int, body: bytes = b"ok", **headers: str) -> None:
        self.send_response(status)
        for name, value in ({"Content-Length": str(len(body))} | headers).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def on_hook(self) -> None:
        self._send(200)

    def on_large(self) -> None:
        self._send(200, b"x" * 100_000)

    def on_chunked(self) -> None:
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.write(b"2\r\nok\r\n0\r\n\r\n")

    def on_elsewhere(self) -> None:
        self._send(307, Location="http://127.0.0.1/hook")

    def on_once(self) -> None:
        """Answers that the connection stays open, and closes it."""
        self._send(200)
        self.close_connection = True

    def on_silence(self) -> None:
        self.server.over.wait(60)  # type: ignore[attr-defined]

    def on_drip(self) -> None:
        self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
        while not self.server.over.wait(0.02):  # type: ignore[attr-defined]
            self.wfile.write(b"x")
            self.wfile.flush()

    def on_slow_body(self) -> None:
        self.send_response(204 if self.server.over.is_set() else 200)  # type: ignore[attr-defined]
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.server.over.wait(60)  # type: ignore[attr-defined]

    def on_nonsense(self) -> None:
        self.wfile.write(b"SMTP ready\r\n\r\n")
        self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Logs nothing."""


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, handler: type[http.server.BaseHTTPRequestHandler]) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        self.seen: list[Any] = []
        self.over = threading.Event()

    def handle_error(self, *_: object) -> None:
        """Ignores errors, because some tests close the connection early."""


def loopback(port: int) -> AllowedNetwork:
    return parse_allowed_network(f"127.0.0.1/32:{port}")


def post(
    connection: WebhookConnection, path: str = "hook", url: str = f"http://{HOST}", seconds: float = 30.0
) -> Answered:
    headers = {"Content-Type": "application/json"}
    return connection.post(f"{url}/{path}", b"{}", headers, timeout_seconds=seconds, max_bytes=16_384)


def problem(connection: WebhookConnection, *arguments: Any, **options: Any) -> PostProblem:
    with pytest.raises(PostFailed) as failure:
        post(connection, *arguments, **options)
    return failure.value.problem
