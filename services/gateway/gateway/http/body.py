"""Reads the body of a request: checks its size and content type, and parses JSON and forms.

Values that cannot be stored (bad strings, numbers out of range, deep nesting) are found here, so that they are answered
with the documented error and never reach a service.
"""

import json
import math
from collections.abc import Mapping
from typing import Any, NoReturn
from urllib.parse import parse_qsl

import msgspec

from contracts.errors import INVALID_JSON, PAYLOAD_TOO_LARGE, UNSUPPORTED_MEDIA_TYPE, ApiError

#: decisions "Errors".
MAX_BODY_BYTES = 2**20
#: How much of a body that is too large is read and discarded: a client that is still sending would not see the answer.
#: 32 MiB bound what a client can make us read.
_MAX_DISCARDED_BYTES = 32 * 2**20
_PIECE_BYTES = 2**18
#: Most fields of a form. Ours have fewer.
_MOST_FIELDS = 8
#: Levels of nesting in one field's value. Free-form settings need two or three; deep nesting only slows parsers down.
MAX_DEPTH = 16
_MAX_INTEGER = 2**63

_decode = msgspec.json.Decoder().decode


def take_body(environ: Mapping[str, Any], *, is_json: bool) -> bytes:
    """Reads the body. Raises PAYLOAD_TOO_LARGE, UNSUPPORTED_MEDIA_TYPE, INVALID_JSON (cut off or too slow)."""
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


def parse_object(raw: bytes) -> dict[str, Any]:
    """Parses a JSON object. Raises INVALID_JSON if the body is not JSON, not UTF-8, nested too deeply, or not an
    object."""
    try:
        value = _decode(raw)
    except RecursionError:
        raise ApiError(INVALID_JSON, "The body is nested too deeply.") from None
    except (msgspec.MsgspecError, UnicodeError):
        value = _parse_with_surrogates(raw)
    if not isinstance(value, dict):
        raise ApiError(INVALID_JSON)
    return value


def _parse_with_surrogates(raw: bytes) -> Any:
    """Parses JSON that contains lone surrogates. msgspec refuses the whole body, but the error must name the field."""
    try:
        return json.loads(raw.decode(), parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise ApiError(INVALID_JSON) from None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)


def flaw_in(value: Any, depth: int = 0) -> str | None:
    """Returns why a value cannot be stored; None if it can be stored."""
    if isinstance(value, str):
        return _flaw_in_text(value)
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int):
        return None if -_MAX_INTEGER <= value < _MAX_INTEGER else "Number out of range"
    if isinstance(value, float):
        return None if math.isfinite(value) else "Number out of range"
    if depth >= MAX_DEPTH:
        return f"Nested more than {MAX_DEPTH} levels deep"
    items = [*value.keys(), *value.values()] if isinstance(value, dict) else value
    return next((flaw for item in items if (flaw := flaw_in(item, depth + 1))), None)


def _flaw_in_text(text: str) -> str | None:
    if "\x00" in text:
        return "Must not contain NUL characters"
    try:
        text.encode()
    except UnicodeEncodeError:
        return "Must be valid Unicode, without lone surrogates"
    return None
