"""A server that answers by script, and the simulator as a process: both real HTTP."""

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
import requests

START_SECONDS = 20.0

#: What a script does with a request: writes its own answer.
Answer = Callable[[BaseHTTPRequestHandler], None]


class ScriptedServer:
    """Gives the answers of `script` in order, the last one again and again; keeps what it was asked."""

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
                """Nothing."""

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        threading.Thread(target=self._http.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()


def replying(status: int, body: bytes = b"", **headers: str) -> Answer:
    """A plain answer; `retry_after="1"` is the header Retry-After."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return answer


@pytest.fixture
def reply() -> Callable[..., Answer]:
    return replying


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    server = ScriptedServer()
    yield server
    server.close()


class Simulator:
    """The simulator's control API."""

    def __init__(self, url: str) -> None:
        self.url = url

    def call(self, method: str, path: str, **body: Any) -> Any:
        response = requests.request(method, f"{self.url}/_sim/{path}", json=body or None, timeout=10)
        response.raise_for_status()
        return response.json() if response.content else None

    def fault(self, platform: str, operation: str, mode: str, times: int = 1) -> None:
        self.call("POST", "faults", platform=platform, operation=operation, mode=mode, times=times)

    def works(self) -> list[dict[str, Any]]:
        return list(self.call("GET", "ai")["works"])


@pytest.fixture(scope="session")
def simulator_process() -> Iterator[Simulator]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "SIMULATOR_FILM_SECONDS": "0.3"}
    process = subprocess.Popen([sys.executable, "-m", "simulator", "--port", str(port)], env=env)
    running = Simulator(f"http://127.0.0.1:{port}")
    until = time.monotonic() + START_SECONDS
    try:
        while True:
            try:
                running.call("GET", "faults")
                break
            except requests.RequestException:
                assert time.monotonic() < until, "the simulator did not start"
                time.sleep(0.05)
        yield running
    finally:
        process.terminate()
        process.wait(10)


@pytest.fixture
def simulator(simulator_process: Simulator) -> Iterator[Simulator]:
    yield simulator_process
    simulator_process.call("POST", "reset")
