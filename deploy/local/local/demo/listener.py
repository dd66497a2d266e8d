"""A webhook receiver for `./dev demo`: keeps the deliveries while the demo runs."""

import queue
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any


@dataclass(frozen=True)
class Delivery:
    """A received webhook request. Verify its signature before you parse the body."""

    body: bytes
    signature: str | None
    attempt: str | None


class Listener:
    """A server that answers every POST with 204. Use it in a `with` statement. Port 0 means any free one."""

    def __init__(self, host: str = "127.0.0.1", port: int = 0) -> None:
        deliveries: queue.Queue[Delivery] = queue.Queue()

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                deliveries.put(
                    Delivery(body, self.headers.get("X-Svc-Signature"), self.headers.get("X-Svc-Attempt"))
                )
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                """Does nothing, because the demo itself reports what matters."""

        self._deliveries = deliveries
        self._server = HTTPServer((host, port), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.1,), daemon=True)

    @property
    def url(self) -> str:
        host, port = self._server.server_address[:2]
        return f"http://{host!s}:{port}/posthaste"

    def next(self, seconds: float) -> Delivery | None:
        """Returns the next delivery, or None if none arrives in time."""
        try:
            return self._deliveries.get(timeout=seconds)
        except queue.Empty:
            return None

    def __enter__(self) -> "Listener":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
