"""An HTTP server that runs a write once for each Idempotency-Key, and misbehaves as a test says."""

import json
import socket
import threading
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast

Json = dict[str, Any]


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def key(self) -> str:
        return self.headers.get("idempotency-key", "")

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Reply:
    """An answer to a request, or a misbehaviour in its place."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] | None = None
    #: lost: the request is executed, but the connection is closed without an answer. unread: the connection is closed
    #: before the request is executed. silent: the request is executed, and no byte follows. trickled: the answer comes
    #: a byte at a time.
    how: str = "answered"


def error(status: int, code: str, **extras: Any) -> Reply:
    headers = {"Retry-After": str(extras.pop("retry_after"))} if "retry_after" in extras else {}
    body = {"error": "What happened.", "code": code, "request_id": "req_1", **extras}
    return Reply(status, body, headers)


LOST, UNREAD, SILENT, TRICKLED = (Reply(how=how) for how in ("lost", "unread", "silent", "trickled"))


class MisbehavingServer:
    """A server that gives the replies in `next`, one after another, and then correct answers. Use it in a `with`
    statement.
    """

    def __init__(self) -> None:
        self.next: deque[Reply] = deque()
        self.requests: list[Request] = []
        #: How often each message was posted; a repeated key posts nothing.
        self.effects: Counter[str] = Counter()
        self.routes: dict[str, Callable[[Request], Reply]] = {}
        #: Chooses a reply when `next` is empty; None: a proper answer.
        self.mood: Callable[[], Reply | None] = lambda: None
        self._answers: dict[str, Json] = {}
        self._lock = threading.Lock()
        self.closing = threading.Event()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.owner = self
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> "MisbehavingServer":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def take(self, request: Request) -> Reply:
        with self._lock:
            self.requests.append(request)
            reply = self.next.popleft() if self.next else self.mood()
            if reply is not None and (reply.how == "unread" or reply.status >= 300):
                return reply
            route = self.routes.get(request.path.partition("?")[0])
            proper = route(request) if route else Reply(201, self._publish(request))
            return proper if reply is None else Reply(proper.status, proper.body, proper.headers, reply.how)

    def _publish(self, request: Request) -> Json:
        if request.key in self._answers:
            return self._answers[request.key]
        message = request.json.get("message", "") if request.body else ""
        self.effects[message] += 1
        answer = published(message, f"pst_{self.effects.total()}")
        if request.key:
            self._answers[request.key] = answer
        return answer


def published(message: str, post_id: str = "pst_1") -> Json:
    return {
        "post_id": post_id,
        "platform": "FB",
        "page_id": "pag_1",
        "brand_id": "brd_1",
        "message": message,
        "media": [],
        "status": "published",
        "was_published": True,
        "platform_post_id": "1_2",
        "published_at": "2026-11-24T09:00:00.123Z",
        "permalink": None,
    }


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    owner: MisbehavingServer

    def handle_error(self, *_: Any) -> None:
        """Ignores errors, because some clients give up early."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def _take(self) -> None:
        owner = cast("_Server", self.server).owner
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        reply = owner.take(Request(self.command, self.path, headers, body))
        if reply.how in ("lost", "unread"):
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
        elif reply.how == "silent":
            self.close_connection = True
            owner.closing.wait(30)
        else:
            self._answer(reply, owner.closing)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _take

    def _answer(self, reply: Reply, closing: threading.Event) -> None:
        content = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
        self.send_response(reply.status)
        for name, value in (reply.headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if reply.how != "trickled":
            self.wfile.write(content)
            return
        for byte in content:
            if closing.wait(0.05):
                return
            self.wfile.write(bytes([byte]))

    def log_message(self, *_: Any) -> None:
        """Logs nothing."""
