"""Runs the command line in this process. The services' answers come from a table."""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from click.testing import CliRunner, Result

from ctl.cli import cli
from ctl.session import Session
from testkit.fixtures import keys_for_tests


class FakeBus:
    """Answers each method with a value, an error, or the result of a function of the request."""

    def __init__(self) -> None:
        self.answers: dict[str, Any] = {}
        self.calls: list[tuple[str, Any, Any]] = []
        self.closed = False

    def service(self, _name: str) -> "FakeBus":
        return self

    def close(self) -> None:
        self.closed = True

    def __getattr__(self, method: str) -> Callable[[Any, Any], Any]:
        def call(caller: Any, request: Any, **_options: Any) -> Any:
            self.calls.append((method, caller, request))
            answer = self.answers[method]
            if isinstance(answer, Exception):
                raise answer
            return answer(request) if callable(answer) else answer

        return call


class CommandLine:
    """`line.run("user", "create", …)` runs a command. `line.json(…)` returns what it prints with `--json`."""

    def __init__(self) -> None:
        self.bus = FakeBus()

    def run(self, *arguments: str) -> Result:
        session = Session(connect_bus=lambda _url, _name: self.bus)
        return CliRunner().invoke(cli, arguments, obj=session, prog_name="posthaste")

    def json(self, *arguments: str, exit_code: int = 0) -> Any:
        result = self.run("--json", *arguments)
        assert result.exit_code == exit_code, result.output
        return json.loads(result.stdout)


@pytest.fixture
def line(monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    monkeypatch.setenv("AMQP_URL", "amqp://nowhere")
    monkeypatch.setenv("MESSAGE_KEYS", keys_for_tests("ctl"))
    for name in ("SIMULATOR_URL", "CLOCK_SHIFT_ALLOWED"):
        monkeypatch.delenv(name, raising=False)
    return CommandLine()


@pytest.fixture
def simulator(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """A simulator that records its requests."""
    asked: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked.append((self.path, body))
            answer = b'{"account_id": "777", "access_token": "t", "name": "FB page", "followers": 3}'
            self.send_response(201)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            """Logs nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}).start()
    monkeypatch.setenv("SIMULATOR_URL", f"http://127.0.0.1:{server.server_port}")
    yield asked
    server.shutdown()
    server.server_close()
