"""Identifiers: a type prefix and a ULID, so that indexes stay compact and ids sort by creation."""

import os
import re
import time

_CROCKFORD = "0123456789abcdefghjkmnpqrstvwxyz"
#: Two characters for each ten bits, and the shift of each ten of the 130 bits: fast, because a write needs five ids.
_PAIRS = [first + second for first in _CROCKFORD for second in _CROCKFORD]
_SHIFTS = tuple(range(120, -1, -10))
#: Wider than the ids of `new_id`, so that tests may use short ones.
_ID = re.compile(r"[a-z]{2,8}_[0-9A-Za-z]{1,64}")
#: The last ULID of this process. Not locked: two threads that read the same value each add their own random number.
_last = 0


def new_id(prefix: str) -> str:
    """Returns a new id: the prefix, such as `pst`, an underscore and a ULID (26 characters) in lower case.

    A ULID has 128 bits: 48 for the time in Unix milliseconds, then 80 random ones. Within a millisecond, ids of one
    process increase (ULID calls this monotonic), so that lists sorted by time and id show them in order of creation.
    """
    global _last
    millisecond = time.time_ns() // 1_000_000
    random = int.from_bytes(os.urandom(10))
    if millisecond == _last >> 80:
        number = _last + 1 + (random >> 16)  # 64 bits: other processes' ids and ours stay apart
    else:
        number = (millisecond << 80) | random >> 1  # room for 32,768 more before the next millisecond
    _last = number
    return _written(prefix, number)


def is_id(value: str) -> bool:
    """Whether the value has the form of our ids. Use no other value in a query, because PostgreSQL refuses some
    characters."""
    return _ID.fullmatch(value) is not None


def first_id(prefix: str, unix_seconds: float) -> str:
    """Returns the lowest id that could be made at this time. All ids made earlier are smaller, compared by bytes."""
    return _written(prefix, int(unix_seconds * 1_000) << 80)


def _written(prefix: str, number: int) -> str:
    return f"{prefix}_{''.join([_PAIRS[number >> shift & 1023] for shift in _SHIFTS])}"
