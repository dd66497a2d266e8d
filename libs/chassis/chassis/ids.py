"""Identifiers: a type prefix and a ULID, so that indexes stay compact and order is creation order."""

import os
import time

_CROCKFORD = "0123456789abcdefghjkmnpqrstvwxyz"
#: The two characters of ten bits, and where each ten of the 130 bits begin: a write makes five ids.
_PAIRS = [first + second for first in _CROCKFORD for second in _CROCKFORD]
_SHIFTS = tuple(range(120, -1, -10))
#: The ULID made last by this process. Not locked: two threads that read the same one each add a number of their own.
_last = 0


def new_id(prefix: str) -> str:
    """`pst_` and 26 characters: 48 bits of Unix milliseconds, then 80 random bits (a ULID, in lower case).

    Of the ids one process makes within a millisecond a later one is larger (ULID calls that monotonic), so that
    lists that order by time and then by id show them as they came.
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


def first_id(prefix: str, unix_seconds: float) -> str:
    """The lowest id of the millisecond that begins then: ids made earlier are smaller, in the order of bytes."""
    return _written(prefix, int(unix_seconds * 1_000) << 80)


def _written(prefix: str, number: int) -> str:
    return f"{prefix}_{''.join([_PAIRS[number >> shift & 1023] for shift in _SHIFTS])}"
