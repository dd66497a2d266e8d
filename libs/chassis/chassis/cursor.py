"""Opaque cursors for paging through lists: the sort key of the last row, in base64."""

import base64
import binascii
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from operator import attrgetter
from typing import Any, TypeVar

import msgspec

from chassis.ids import is_id
from contracts.errors import ApiError, invalid

Row = TypeVar("Row")


def encode_cursor(*key: str) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(key)).decode().rstrip("=")


def decode_cursor(cursor: str, parts: int) -> tuple[str, ...]:
    """Decodes a cursor into its sort key, which has `parts` strings.

    Raises ApiError VALIDATION_ERROR for a text of another form. Cursors are not signed: a client can make up the
    strings.
    """
    try:
        raw = base64.urlsafe_b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4))
        key = msgspec.json.decode(raw, type=tuple[str, ...])
    except (binascii.Error, ValueError, msgspec.MsgspecError):
        raise _not_ours() from None
    if len(key) != parts:
        raise _not_ours()
    return key


def encode_position(at: datetime, row_id: str) -> str:
    """Returns the cursor that points behind the row with this time and id, in a list that is sorted by time and then
    by id.
    """
    return encode_cursor(at.isoformat(), row_id)


def decode_position(cursor: str | None) -> tuple[datetime, str] | None:
    """Decodes a cursor of `encode_position` into its time and id; None for None.

    Raises ApiError VALIDATION_ERROR for a text of another form. Cursors are not signed: a client can make up time and
    id, but the id has only characters that PostgreSQL accepts.
    """
    if cursor is None:
        return None
    stamp, row_id = decode_cursor(cursor, 2)
    try:
        at = datetime.fromisoformat(stamp)
    except ValueError:
        raise _not_ours() from None
    if at.utcoffset() != timedelta(0) or not is_id(row_id):
        raise _not_ours()
    return at, row_id


def one_page(
    found: Sequence[Row],
    limit: int,
    position: Callable[[Any], tuple[datetime, str]] = attrgetter("created_at", "id"),
) -> tuple[tuple[Row, ...], str | None]:
    """Returns the first `limit` rows of `found`, and the cursor of the next page, or None if `found` has no more rows.

    `found`: up to `limit + 1` rows of a list that is sorted by time and then by id. `position`: returns the time and
    the id of a row.
    """
    page = tuple(found[:limit])
    return page, encode_position(*position(page[-1])) if len(found) > limit else None


def _not_ours() -> ApiError:
    return invalid("cursor", "is not a cursor of this list")
