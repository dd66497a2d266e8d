"""Reads the raw body of a request, checks its size and content type; and parses forms."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

from contracts.errors import INVALID_JSON, PAYLOAD_TOO_LARGE, UNSUPPORTED_MEDIA_TYPE, ApiError

#: decisions "Errors".
MAX_BODY_BYTES = 2**20
#: How much of a body that is too large is read and discarded: a client that is still sending would not see the answer.
#: 32 MiB bound what a client can make us read.
_MAX_DISCARDED_BYTES = 32 * 2**20
_PIECE_BYTES = 2**18
#: Most fields of a form. Ours have fewer.
_MOST_FIELDS = 8


def take_body(environ: Mapping[str, Any], *, is_json: bool) -> bytes:
    """Reads the body of a request.

    Raises PAYLOAD_TOO_LARGE, UNSUPPORTED_MEDIA_TYPE, INVALID_JSON (cut off or too slow).
    """
    length_text = environ.get("CONTENT_LENGTH") or ""
    length = int(length_text) if length_text.isascii() and length_text.isdigit() else None
    if length is None and "HTTP_TRANSFER_ENCODING" not in environ:
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
    return body


def form_of(body: bytes) -> dict[str, str]:
    """Returns the fields of a form that a browser sent; none if the body is not a form."""
    try:
        return dict(parse_qsl(body.decode("ascii"), max_num_fields=_MOST_FIELDS))
    except ValueError:
        return {}


def _check_content_type(value: str) -> None:
    """Raises UNSUPPORTED_MEDIA_TYPE unless the body is JSON. Without a content type it counts as JSON."""
    kind = value.partition(";")[0].strip().lower()
    if (
        kind
        and kind != "application/json"
        and not (kind.startswith("application/") and kind.endswith("+json"))
    ):
        raise ApiError(UNSUPPORTED_MEDIA_TYPE)


def _discard(stream: Any) -> None:
    discarded = 0
    while discarded < _MAX_DISCARDED_BYTES and (piece := _read(stream, _PIECE_BYTES)):
        discarded += len(piece)


def _read(stream: Any, most: int) -> bytes:
    try:
        return bytes(stream.read(most))
    except Exception as error:  # of gunicorn's parser or of the socket
        raise ApiError(INVALID_JSON, "The request body ended early or is not valid HTTP.") from error
