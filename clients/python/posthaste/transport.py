"""The use of httpx2 in both clients: headers, time limits, and the `Failure` for each of its exceptions."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable

import httpx2

from posthaste.exchange import Send
from posthaste.retries import Failure

#: Time to connect. A running server accepts much sooner; the rest is for a busy network.
_CONNECT_SECONDS = 10.0


class OverDeadline(Exception):
    """Raised when an answer that had begun did not end in time."""


def timeout_of(seconds: float) -> httpx2.Timeout:
    return httpx2.Timeout(seconds, connect=min(_CONNECT_SECONDS, seconds))


def failure_of(error: Exception, seconds: float) -> Failure:
    """Returns the Failure for an exception. It tells whether the server was reached, and has a text for people."""
    if isinstance(error, (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)):
        return Failure(
            f"The server could not be reached: {error or type(error).__name__}", reached_server=False
        )
    if isinstance(error, (httpx2.UnsupportedProtocol, httpx2.ProxyError)):
        return Failure(str(error), reached_server=False)
    if isinstance(error, httpx2.TransportError) and not isinstance(error, httpx2.TimeoutException):
        return Failure(f"The connection was lost: {error or type(error).__name__}", reached_server=True)
    return Failure(f"No answer came within {seconds:g} seconds", reached_server=True)


def headers_of(request: Send) -> dict[str, str]:
    """Returns the headers of a request. For a streamed body, adds Content-Length; and Content-Type if the body has a
    type.
    """
    content = request.content
    if content is None or isinstance(content, bytes):
        return request.headers
    headers = {**request.headers, "Content-Length": str(content.size_bytes)}
    return {**headers, "Content-Type": content.content_type} if content.content_type else headers


def body_of(request: Send) -> bytes | Iterable[bytes] | None:
    content = request.content
    return content if content is None or isinstance(content, bytes) else content.blocks()


def async_body_of(request: Send) -> bytes | AsyncIterator[bytes] | None:
    content = request.content
    return content if content is None or isinstance(content, bytes) else _async(content.blocks())


async def _async(blocks: Iterable[bytes]) -> AsyncIterator[bytes]:
    for block in blocks:
        yield block
