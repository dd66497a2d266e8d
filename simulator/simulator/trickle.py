"""Slow transfers: sends a response, or reads a request's body, a few bytes at a time."""

import time
from collections.abc import Iterator
from typing import Any

from flask import Response, g, request

#: Transfers in a second. Our choice.
_STEPS = 10


def drip_answer(bytes_per_second: float) -> None:
    """Makes `after_request` send the body of the current response at this rate."""
    g.answer_rate = bytes_per_second


def drip_body(bytes_per_second: float) -> None:
    """Makes the application read the body of the current request at this rate. Call it before the body is read."""
    request.environ["wsgi.input"] = _Dripping(request.environ["wsgi.input"], bytes_per_second)


def after_request(response: Response) -> Response:
    """Returns the response, which is sent slowly if `drip_answer` was called."""
    rate = g.pop("answer_rate", None)
    if rate is not None:
        data = response.get_data()
        response.headers["Content-Length"] = str(len(data))
        response.response = _drops(data, rate)
    return response


def _drops(data: bytes, bytes_per_second: float) -> Iterator[bytes]:
    size, pause = _step(bytes_per_second)
    for start in range(0, len(data), size):
        time.sleep(pause)
        yield data[start : start + size]


class _Dripping:
    """A WSGI input stream that waits before each piece of a few bytes."""

    def __init__(self, source: Any, bytes_per_second: float) -> None:
        self._source = source
        self._size, self._pause = _step(bytes_per_second)

    def read(self, size: int = -1) -> bytes:
        """Returns `size` bytes, or all bytes until the end of the body if there are fewer."""
        data = bytearray()
        while size < 0 or len(data) < size:
            time.sleep(self._pause)
            piece = self._source.read(self._size if size < 0 else min(size - len(data), self._size))
            if not piece:
                break
            data += piece
        return bytes(data)

    def readline(self, size: int = -1) -> bytes:
        time.sleep(self._pause)
        data: bytes = self._source.readline(size)
        return data


def _step(bytes_per_second: float) -> tuple[int, float]:
    """Returns how many bytes to transfer at once, and how many seconds to wait before each transfer."""
    size = max(int(bytes_per_second / _STEPS), 1)
    return size, size / bytes_per_second
