"""Identifiers: a type prefix and a ULID, so that indexes stay compact and order is creation order."""

import os
import time

_CROCKFORD = "0123456789abcdefghjkmnpqrstvwxyz"


def new_id(prefix: str) -> str:
    """`pst_` and 26 characters: 48 bits of Unix milliseconds, then 80 random bits (a ULID, in lower case)."""
    number = (time.time_ns() // 1_000_000 << 80) | int.from_bytes(os.urandom(10))
    characters = [_CROCKFORD[number >> shift & 31] for shift in range(125, -1, -5)]
    return f"{prefix}_{''.join(characters)}"
