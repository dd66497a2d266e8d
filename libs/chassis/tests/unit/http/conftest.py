"""A local server that receives all connections, and WebhookConnections to it."""

import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest

from chassis.http.webhook_connection import WebhookConnection

from .posts import PUBLIC, Handler, Server


@pytest.fixture
def handler() -> type[BaseHTTPRequestHandler]:
    """The class of the server's request handler. A test module may override it."""
    return Handler


@pytest.fixture
def server(handler: type[BaseHTTPRequestHandler]) -> Iterator[Server]:
    with Server(handler) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.over.set()
        running.shutdown()
        thread.join()


@pytest.fixture
def dialled(server: Server, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """The addresses to which connections were made. Each connection really goes to the local server."""
    calls: list[tuple[str, int]] = []
    real = socket.create_connection

    def dial(address: tuple[str, int], timeout: float) -> socket.socket:
        calls.append(address)
        return real(server.server_address[:2], timeout)

    monkeypatch.setattr(socket, "create_connection", dial)
    return calls


@pytest.fixture
def connect() -> Iterator[Callable[..., WebhookConnection]]:
    made: list[WebhookConnection] = []

    def make(*answers: Sequence[str], **options: Any) -> WebhookConnection:
        """Makes a connection whose resolver gives these answers in turn, and then repeats the last one."""
        left = list(answers or [[PUBLIC]])
        options = {"resolve": lambda host, port: left.pop(0) if len(left) > 1 else left[0]} | options
        made.append(WebhookConnection(**options))
        return made[-1]

    yield make
    for one in made:
        one.close()
