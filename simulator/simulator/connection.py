"""Acts on the socket under a request: closes it without an answer, or keeps it open without one."""

import contextlib
import select
import socket
import threading
import time
from typing import Any, NoReturn


class ConnectionDropped(ConnectionError):
    """Raised when a fault has closed the connection, so that no response can be sent."""


def cut(environ: dict[str, Any]) -> None:
    """Closes the request's connection at once."""
    client: socket.socket | None = environ.get("gunicorn.socket")
    if client is not None:
        with contextlib.suppress(OSError):  # the caller may have left first
            client.shutdown(socket.SHUT_RDWR)


def drop(environ: dict[str, Any]) -> NoReturn:
    """Closes the request's connection before any byte of the answer is sent."""
    cut(environ)
    raise ConnectionDropped


def hang(environ: dict[str, Any], released: threading.Event, seconds: float) -> NoReturn:
    """Sends nothing until the caller disconnects, `released` is set or the time is over. Then closes the connection."""
    client: socket.socket | None = environ.get("gunicorn.socket")
    until = time.monotonic() + seconds
    while time.monotonic() < until and not released.wait(0.1):
        if client is not None and _has_left(client):
            break
    drop(environ)


def _has_left(client: socket.socket) -> bool:
    readable, _, _ = select.select([client], [], [], 0)
    return bool(readable) and client.recv(1, socket.MSG_PEEK) == b""
