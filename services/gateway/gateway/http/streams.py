"""Reads request bodies as they arrive, without holding them in memory, at a minimum speed.

`SENDING.cut_late`, a periodic task of the process, cuts off clients that are too slow.
"""

import time
from collections.abc import Mapping
from typing import Any

from gunicorn.http.body import LengthReader

from gateway.http.slow_clients import SENDING

#: A slower connection falls behind; one that is `READ_SECONDS` behind is cut. Our choice: 128 kbit/s.
MIN_BYTES_PER_SECOND = 16 * 1024
#: How much of a refused body is read and discarded: a client that is still sending would see a connection reset instead
#: of the answer. Our choice: more than the largest file of any tier, and 30 s at most.
_MAX_DISCARDED_BYTES = 512 * 2**20
_DISCARD_SECONDS = 30.0
_BLOCK_BYTES = 2**18


class BodyStream:
    """The body of one request, read in pieces."""

    def __init__(self, environ: Mapping[str, Any]) -> None:
        length = environ.get("CONTENT_LENGTH") or ""
        #: In bytes; None: chunked, or no body at all.
        self.length = int(length) if length.isascii() and length.isdigit() else None
        self.is_empty = not self.length and "HTTP_TRANSFER_ENCODING" not in environ
        self._client: Any = environ.get("gunicorn.socket")
        self._input = environ["wsgi.input"]
        self._reader: Any = getattr(self._input, "reader", None)
        self._behind_seconds = 0.0
        SENDING.forget(self._client)  # from here on its speed counts, not its total time

    def read(self, most: int) -> bytes:
        """Returns up to `most` bytes; b"" at the end of the body, or when the client is gone or too slow."""
        if self._client is None:
            return self._receive(most)
        began = time.monotonic()
        SENDING.watch(self._client, began - self._behind_seconds)
        try:
            block = self._receive(most)
        finally:
            SENDING.forget(self._client)
        time.sleep(0)  # a fast connection never blocks: this gives the other green threads their turn
        waited = time.monotonic() - began
        self._behind_seconds = max(0.0, self._behind_seconds + waited - len(block) / MIN_BYTES_PER_SECOND)
        return block

    def _receive(self, most: int) -> bytes:
        try:
            return (
                self._receive_directly(most)
                if isinstance(self._reader, LengthReader)
                else self._input.read(most)
            )
        except Exception:  # noqa: BLE001 - errors of gunicorn's parser and of the socket alike end the body
            return b""

    def _receive_directly(self, most: int) -> bytes:
        """Reads from the socket itself, because gunicorn's buffers copy each byte three times and wait for whole
        blocks.

        Corrects gunicorn's count of the remaining bytes, so that it finds the next request.
        """
        reader = self._reader
        most = min(most, reader.length)
        buffered = reader.unreader.buf.tell()
        if buffered or not most:
            return bytes(reader.read(min(most, buffered)))
        block = bytes(self._client.recv(most))
        reader.length -= len(block)
        return block


def discard_rest(environ: Mapping[str, Any]) -> None:
    """Reads and drops the rest of a refused request, within limits, so that the client sees the answer."""
    stream, end = BodyStream(environ), time.monotonic() + _DISCARD_SECONDS
    discarded = 0
    while (
        discarded < _MAX_DISCARDED_BYTES and time.monotonic() < end and (block := stream.read(_BLOCK_BYTES))
    ):
        discarded += len(block)
