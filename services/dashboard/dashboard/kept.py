"""Keeps what a session has just read from the API for its next screens.

Plans permit as few as ten API calls in a minute. Keep only what most screens need. A screen must always make another
call as well, because that call notices when the session has ended.
"""

import hashlib
import time
from collections.abc import Callable
from typing import Any, TypeVar, cast

from flask import g

T = TypeVar("T")

#: Bounds the memory: about as many sessions, with some values each.
_MOST = 2_000
#: Session and name of the value → when it was read, and the value.
_values: dict[tuple[bytes, str], tuple[float, Any]] = {}


def kept(name: str, seconds: float, read: Callable[[], T]) -> Callable[[], T]:
    """Returns a function that returns a value of the present session, read with `read` now or at most `seconds` ago.

    The function may run in any thread.
    """
    key = (_session(), name)

    def find() -> T:
        read_at, value = _values.get(key, (-seconds, None))
        if time.monotonic() - read_at < seconds:
            return cast(T, value)
        value = read()
        _put(key, value)
        return value

    return find


def kept_for(name: str, seconds: float) -> Any | None:
    """Returns a value of the present session that was kept at most `seconds` ago, else None."""
    kept_at, value = _values.get((_session(), name), (-seconds, None))
    return value if time.monotonic() - kept_at < seconds else None


def keep(name: str, value: object) -> None:
    """Keeps a value of the present session that a screen has just read anyway."""
    _put((_session(), name), value)


def forget(*names: str) -> None:
    """Forgets kept values of the present session after they were changed, so that the next screen reads them again."""
    session = _session()
    for name in names:
        _values.pop((session, name), None)


def _put(key: tuple[bytes, str], value: object) -> None:
    if len(_values) >= _MOST:
        _values.clear()
    _values[key] = time.monotonic(), value


def _session() -> bytes:
    return hashlib.sha256(g.acting_token.encode()).digest()
