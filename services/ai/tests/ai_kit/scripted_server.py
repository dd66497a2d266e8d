"""An HTTP server that sends prepared answers."""

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

#: Writes the answer to one request.
Answer = Callable[[BaseHTTPRequestHandler], None]


class ScriptedServer:
    """Sends the answers in `script` in order, the last one repeatedly. Records the requests."""

    def __init__(self) -> None:
        self.script: list[Answer] = []
        self.asked: list[tuple[str, str, dict[str, str], bytes]] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                headers = {name.lower(): value for name, value in self.headers.items()}
                server.asked.append((self.command, self.path, headers, body))
                answer = server.script.pop(0) if len(server.script) > 1 else server.script[0]
                answer(self)

            do_POST = do_PUT = do_GET

            def log_message(self, *_: Any) -> None:
                """Logs nothing."""

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()


def replying(status: int, body: bytes = b"", **headers: str) -> Answer:
    """Returns an answer with this status, body and headers; `retry_after="1"` is the header Retry-After."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return answer
