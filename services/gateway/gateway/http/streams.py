"""Bodies that are not taken into memory: read as they arrive, at a pace that is held to a minimum.

`MULTIPART.cut_late` ends those that fall behind; it is a chore of the process.
"""

import time
from collections.abc import Mapping
from typing import Any

from gunicorn.http.body import LengthReader

from gateway.http.slow_clients import SENDING, Arrivals

#: A line slower than this falls behind (128 kbit/s); one that is `READ_SECONDS` behind is cut. Our choice.
MIN_BYTES_PER_SECOND = 16 * 1024
#: What is read and thrown away of a body that was refused: a client that is still sending would see a reset
#: instead of the answer. Our choice: more than the largest file of any tier, and what a slow line may take of it.
_MAX_DISCARDED_BYTES = 512 * 2**20
_DISCARD_SECONDS = 30.0
_BLOCK_BYTES = 2**18

#: Bodies whose next bytes are waited for.
STREAMS = Arrivals()


class BodyStream:
    """The body of one request. `read` ends early, or for good, where the client does."""

    def __init__(self, environ: Mapping[str, Any]) -> None:
        length = environ.get("CONTENT_LENGTH") or ""
        #: None: chunked, or no body at all.
        self.length = int(length) if length.isascii() and length.isdigit() else None
        self.is_empty = not self.length and "HTTP_TRANSFER_ENCODING" not in environ
        self._client: Any = environ.get("gunicorn.socket")
        self._input = environ["wsgi.input"]
        self._reader: Any = getattr(self._input, "reader", None)
        self._behind_seconds = 0.0
        SENDING.arrived(self._client)  # from here on its pace counts, not its time

    def read(self, most: int) -> bytes:
        """Up to `most` bytes; b"" at the end, and when the client is gone or too slow."""
        if self._client is None:
            return self._received(most)
        began = time.monotonic()
        STREAMS.begins(self._client, began - self._behind_seconds)
        try:
            block = self._received(most)
        finally:
            STREAMS.arrived(self._client)
        time.sleep(0)  # a fast line never waits: the other green threads get their turn here
        waited = time.monotonic() - began
        self._behind_seconds = max(0.0, self._behind_seconds + waited - len(block) / MIN_BYTES_PER_SECOND)
        return block

    def _received(self, most: int) -> bytes:
        try:
            return self._straight(most) if isinstance(self._reader, LengthReader) else self._input.read(most)
        except Exception:  # noqa: BLE001 - gunicorn's parser errors and the socket's alike: there is no more
            return b""

    def _straight(self, most: int) -> bytes:
        """What the socket has, past gunicorn's buffers: they copy each byte three times and wait for whole blocks.

        gunicorn's count of what is left is kept true, so that it finds the next request.
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
    """After the answer: reads what the client still sends, within bounds, so that it gets to see it."""
    stream, end = BodyStream(environ), time.monotonic() + _DISCARD_SECONDS
    discarded = 0
    while (
        discarded < _MAX_DISCARDED_BYTES and time.monotonic() < end and (block := stream.read(_BLOCK_BYTES))
    ):
        discarded += len(block)
