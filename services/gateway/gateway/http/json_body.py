"""Parses a JSON body, and finds values that cannot be stored: bad strings, numbers out of range, deep nesting. Pure.

Such input is answered with the documented error and never reaches a service.
"""

import json
import math
from typing import Any, NoReturn

import msgspec

from contracts.errors import INVALID_JSON, ApiError

#: Levels of nesting in one field's value. Free-form settings need two or three; deep nesting only slows parsers down.
MAX_DEPTH = 16
_MAX_INTEGER = 2**63

_decode = msgspec.json.Decoder().decode


def parse_object(raw: bytes) -> dict[str, Any]:
    """Parses a body that must be a JSON object.

    Raises INVALID_JSON if it is not JSON, not UTF-8, nested too deeply, or not an object.
    """
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
    """Parses JSON that contains lone surrogates: msgspec refuses the whole body, and the error is to name the field."""
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
