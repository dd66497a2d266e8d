"""Opaque cursors of lists: the sort key of the last row, base64."""

import base64
import binascii
from datetime import datetime, timedelta

import msgspec

from contracts.errors import ApiError, invalid

_LONGEST_ID = 64


def encode_cursor(*key: str) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(key)).decode().rstrip("=")


def decode_cursor(cursor: str, parts: int) -> tuple[str, ...]:
    """Raises ApiError VALIDATION_ERROR for a cursor we did not make."""
    try:
        raw = base64.urlsafe_b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4))
        key = msgspec.json.decode(raw, type=tuple[str, ...])
    except (binascii.Error, ValueError, msgspec.MsgspecError):
        raise _not_ours() from None
    if len(key) != parts:
        raise _not_ours()
    return key


def encode_position(at: datetime, row_id: str) -> str:
    """Of a list sorted by a time and then by id: where its last row stands."""
    return encode_cursor(at.isoformat(), row_id)


def decode_position(cursor: str | None) -> tuple[datetime, str] | None:
    """The time and id it stands for. Raises ApiError VALIDATION_ERROR for a cursor we did not make.

    Both may be asked of the database: PostgreSQL reads fewer offsets from UTC than Python, and no NUL.
    """
    if cursor is None:
        return None
    stamp, row_id = decode_cursor(cursor, 2)
    try:
        at = datetime.fromisoformat(stamp)
    except ValueError:
        raise _not_ours() from None
    is_id = row_id.isascii() and row_id.replace("_", "").isalnum() and len(row_id) <= _LONGEST_ID
    if at.utcoffset() != timedelta(0) or not is_id:
        raise _not_ours()
    return at, row_id


def _not_ours() -> ApiError:
    return invalid("cursor", "is not a cursor of this list")
