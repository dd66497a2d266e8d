"""A webhook receiver on the loopback. It records its requests and sends the responses that a test sets."""

import datetime as dt
import threading
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from e2e_kit.api import Json
from e2e_kit.operator import Account
from e2e_kit.waiting import until
from posthaste import webhooks

#: Longest time from an event to its first delivery attempt, on a machine that is busy with other tests.
ARRIVAL_SECONDS = 30.0


@dataclass(frozen=True)
class Arrival:
    """A request that the receiver got."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    at: dt.datetime = field(default_factory=lambda: dt.datetime.now(dt.UTC))

    @property
    def signature(self) -> str:
        return self.headers[webhooks.SIGNATURE_HEADER.lower()]

    def verified(self, secret: str) -> webhooks.WebhookEvent:
        """Verifies both signatures of the delivery, and returns its event. Raises WebhookError if one is wrong."""
        webhooks.verify(self.body, self.headers.get(webhooks.SIGNATURE_HEADER.lower()), secret)
        return webhooks.read_delivery(self.body, self.headers, secret, now=self.at.timestamp())


class Answer:
    """A response: status, headers and body."""

    def __init__(self, status: int = 204, body: bytes = b"", **headers: str) -> None:
        self.status, self.body = status, body
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


class Receiver:
    """A running webhook receiver. Each test should use its own path. Use it in a `with` statement, or close it."""

    def __init__(self, otherwise: Callable[[Arrival], Answer] = lambda _: Answer()) -> None:
        """Starts the receiver. `otherwise` returns the response for paths without a set response, by default 204."""
        self._otherwise = otherwise
        self._lock = threading.Lock()
        self._arrivals: dict[str, list[Arrival]] = defaultdict(list)
        self._answers: dict[str, Callable[[Arrival], Answer]] = {}
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.receiver = self
        self.port: int = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    def __enter__(self) -> "Receiver":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def answers(self, path: str, answer: Answer | Callable[[Arrival], Answer]) -> None:
        """Sets the response to requests to this path from now on."""
        with self._lock:
            self._answers[path] = answer if callable(answer) else lambda _: answer

    def arrivals(self, path: str | None = None) -> list[Arrival]:
        """Returns the requests to this path, or to all paths, oldest first."""
        with self._lock:
            if path is not None:
                return list(self._arrivals[path])
            return sorted((one for found in self._arrivals.values() for one in found), key=lambda one: one.at)

    def await_arrivals(self, path: str, count: int, seconds: float = ARRIVAL_SECONDS) -> list[Arrival]:
        """Waits until at least `count` requests to this path have come, and returns all of them."""
        try:
            return until(lambda: found if len(found := self.arrivals(path)) >= count else None, seconds)
        except AssertionError:
            raise AssertionError(
                f"{len(self.arrivals(path))} of {count} came to {path} in {seconds} s"
            ) from None

    def take(self, arrival: Arrival) -> Answer:
        with self._lock:
            self._arrivals[arrival.path].append(arrival)
            answer = self._answers.get(arrival.path, self._otherwise)
        return answer(arrival)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256
    receiver: Receiver


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def _take(self) -> None:
        size = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(size)
        if len(body) < size:  # the sender ended before the end of the body
            self.close_connection = True
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        answer = self.server.receiver.take(Arrival(self.command, self.path, headers, body))
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)

    do_GET = do_POST = do_PUT = do_HEAD = _take

    def log_message(self, *_: Any) -> None:
        """Does nothing, so that requests are not printed."""


def subscribe(account: Account, url: str, *events: str, status: int = 201, **more: Any) -> Json:
    """Creates a subscription with this URL, by default for the event `comment.replied`. Returns the body of the
    answer.
    """
    body = {"name": "e2e", "url": url, "events": list(events or ("comment.replied",)), **more}
    made: Json = account.api.post("/webhooks", body, status)
    return made


def deliveries(account: Account, webhook_id: str, **query: Any) -> list[Json]:
    """Returns the first page of the delivery log, newest first."""
    found: list[Json] = account.api.get(f"/webhooks/{webhook_id}/deliveries", 200, **query)["deliveries"]
    return found


def await_delivery(
    account: Account, webhook_id: str, seconds: float = ARRIVAL_SECONDS, **fields: Any
) -> Json:
    """Waits until the subscription's newest delivery has these values in its fields, and returns it."""

    def look() -> Json | None:
        [newest] = deliveries(account, webhook_id, limit=1) or [{}]
        return newest if {name: newest.get(name) for name in fields} == fields else None

    return until(look, seconds, f"a delivery shows {fields}")
