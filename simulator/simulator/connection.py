"""Functions that close the connection of a request without an answer, at once or after a long silence."""

import contextlib
import select
import socket
import threading
import time
from typing import Any, NoReturn


class ConnectionDropped(ConnectionError):
    """Raised after the simulator has closed the connection of a request, so that no response can be sent."""


def cut(environ: dict[str, Any]) -> None:
    """Closes the connection of a request at once."""
    client: socket.socket | None = environ.get("gunicorn.socket")
    if client is not None:
        with contextlib.suppress(OSError):  # the caller may have left first
            client.shutdown(socket.SHUT_RDWR)


def drop(environ: dict[str, Any]) -> NoReturn:
    """Closes the connection of a request without an answer, and raises ConnectionDropped."""
    cut(environ)
    raise ConnectionDropped


def hang(environ: dict[str, Any], released: threading.Event, seconds: float) -> NoReturn:
    """Keeps the connection of a request open and sends nothing, for at most `seconds`. Stops earlier if the caller
    disconnects or `released` is set. Then closes the connection and raises ConnectionDropped.
    """
    client: socket.socket | None = environ.get("gunicorn.socket")
    until = time.monotonic() + seconds
    while time.monotonic() < until and not released.wait(0.1):
        if client is not None and _has_left(client):
            break
    drop(environ)


def _has_left(client: socket.socket) -> bool:
    readable, _, _ = select.select([client], [], [], 0)
    return bool(readable) and client.recv(1, socket.MSG_PEEK) == b""
