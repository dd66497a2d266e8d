"""Opaque cursors of lists: the sort key of the last row, base64."""

import base64
import binascii

import msgspec

from contracts.errors import invalid


def encode_cursor(*key: str) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(key)).decode().rstrip("=")


def decode_cursor(cursor: str, parts: int) -> tuple[str, ...]:
    """Raises ApiError VALIDATION_ERROR for a cursor we did not make."""
    try:
        raw = base64.urlsafe_b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4))
        key = msgspec.json.decode(raw, type=tuple[str, ...])
    except (binascii.Error, ValueError, msgspec.MsgspecError):
        raise invalid("cursor", "is not a cursor of this list") from None
    if len(key) != parts:
        raise invalid("cursor", "is not a cursor of this list")
    return key
