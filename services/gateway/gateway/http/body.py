"""Receives request bodies, at a minimum speed: whole, or piece by piece without holding them in memory.

Each connection is watched while its client has to send or take its next bytes, and cut off if that takes too long.
gunicorn limits the time of a request's head (`keepalive`), but not of a body, nor of sending an answer.
"""

import socket
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qsl

from gunicorn.http.body import LengthReader

from contracts.errors import INVALID_JSON, PAYLOAD_TOO_LARGE, UNSUPPORTED_MEDIA_TYPE, ApiError

#: The largest body, except uploads (decisions "Errors").
MAX_BODY_BYTES = 2**20
#: Most fields of a form. Ours have fewer.
_MOST_FIELDS = 8
#: A slower connection falls behind; one that is `READ_SECONDS` behind is cut. Our choice: 128 kbit/s.
MIN_BYTES_PER_SECOND = 16 * 1024
#: How much of a refused body is read and discarded: a client that is still sending would see a connection reset instead
#: of the answer. 32 MiB bound what a client can make us read of a body that is too large; an upload may be larger than
#: the largest file of any tier, but takes 30 s at most. Our choice.
_MAX_DISCARDED_BYTES, _MAX_DISCARDED_UPLOAD_BYTES = 32 * 2**20, 512 * 2**20
_DISCARD_SECONDS = 30.0
_BLOCK_BYTES = 2**18


class SlowClients:
    """The connections that wait for their clients, and since when. Thread-safe, because it uses single dictionary
    operations."""

    def __init__(self, side: int, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._side = side
        self._monotonic = monotonic
        self._since: dict[socket.socket, float] = {}

    def watch(self, client: socket.socket, since: float | None = None) -> None:
        """Records that a connection waits for its client, from now on or since `since` (monotonic)."""
        self._since[client] = self._monotonic() if since is None else since

    def forget(self, client: socket.socket | None) -> None:
        """Records that a connection no longer waits for its client."""
        if client is not None:
            self._since.pop(client, None)

    def cut_late(self, after_seconds: float) -> int:
        """Shuts down connections that have waited for their clients for more than `after_seconds`. Returns how many it
        shut down.

        A thread that waits for such a connection sees the end of its stream.
        """
        now = self._monotonic()
        late = [client for client, since in list(self._since.items()) if now - since > after_seconds]
        for client in late:
            self._since.pop(client, None)
            try:
                client.shutdown(self._side)
            except OSError:
                continue  # the connection is closed already
        return len(late)


#: Clients of this process that are sending a body; one that is cut can still read its answer.
SENDING = SlowClients(socket.SHUT_RD)
#: Clients to which a block of a download is being sent.
RECEIVING = SlowClients(socket.SHUT_RDWR)


def take_body(environ: Mapping[str, Any], *, is_json: bool) -> bytes:
    """Reads the body; b"" if the request has none.

    Raises PAYLOAD_TOO_LARGE for a body over the limit, and INVALID_JSON for one that ends early or comes too slowly.
    With `is_json`, raises UNSUPPORTED_MEDIA_TYPE for a body of another content type.
    """
    length_text = environ.get("CONTENT_LENGTH") or ""
    length = int(length_text) if length_text.isascii() and length_text.isdigit() else None
    if length is None and "HTTP_TRANSFER_ENCODING" not in environ:
        SENDING.forget(environ.get("gunicorn.socket"))
        return b""
    if length is not None and length > MAX_BODY_BYTES:
        _discard(environ["wsgi.input"])
        raise ApiError(PAYLOAD_TOO_LARGE)
    if is_json and length != 0:
        _check_content_type(environ.get("CONTENT_TYPE", ""))
    body = _read(environ["wsgi.input"], MAX_BODY_BYTES + 1 if length is None else length)
    if len(body) > MAX_BODY_BYTES:
        _discard(environ["wsgi.input"])
        raise ApiError(PAYLOAD_TOO_LARGE)
    if length is not None and len(body) < length:
        raise ApiError(INVALID_JSON, "The request body ended early or took too long to arrive.")
    SENDING.forget(environ.get("gunicorn.socket"))
    return body


def form_of(body: bytes) -> dict[str, str]:
    """Returns the fields of a form that a browser sent; none if the body is not a form."""
    try:
        return dict(parse_qsl(body.decode("ascii"), max_num_fields=_MOST_FIELDS))
    except ValueError:
        return {}


def _check_content_type(value: str) -> None:
    """Raises UNSUPPORTED_MEDIA_TYPE unless the body is JSON. A body without a content type counts as JSON."""
    kind = value.partition(";")[0].strip().lower()
    if (
        kind
        and kind != "application/json"
        and not (kind.startswith("application/") and kind.endswith("+json"))
    ):
        raise ApiError(UNSUPPORTED_MEDIA_TYPE)


def _discard(stream: Any) -> None:
    discarded = 0
    while discarded < _MAX_DISCARDED_BYTES and (piece := _read(stream, _BLOCK_BYTES)):
        discarded += len(piece)


def _read(stream: Any, most: int) -> bytes:
    try:
        return bytes(stream.read(most))
    except Exception as error:  # of gunicorn's parser or of the socket
        raise ApiError(INVALID_JSON, "The request body ended early or is not valid HTTP.") from error


class BodyStream:
    """The body of one request, read in pieces."""

    def __init__(self, environ: Mapping[str, Any]) -> None:
        length = environ.get("CONTENT_LENGTH") or ""
        #: The announced length in bytes; None: chunked, or no body at all.
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

        Corrects gunicorn's count of the remaining bytes, so that gunicorn finds the next request.
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
        discarded < _MAX_DISCARDED_UPLOAD_BYTES
        and time.monotonic() < end
        and (block := stream.read(_BLOCK_BYTES))
    ):
        discarded += len(block)
