"""Keeps what a session has just read from the API in memory, for its next screens.

Plans permit as few as ten API calls in a minute. Keep only what most screens need. Requests of one session that need a
value at the same time, such as the parts of a screen, share one call.

A screen must always make a call of the API, because that call notices when the session has ended. So a screen that
needs nothing except kept values reads one of them anew, such as the linked pages.
"""

import hashlib
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar, cast

from flask import g

T = TypeVar("T")

#: Session and name of a value.
Key = tuple[bytes, str]

#: Bounds the memory: about as many sessions, with some values each.
_MOST = 2_000
#: When each value was read, and the value.
_values: dict[Key, tuple[float, Any]] = {}
#: What is being read now, for those who wait for it.
_reading: dict[Key, Future[Any]] = {}
_lock = threading.Lock()


def kept(name: str, seconds: float, read: Callable[[], T]) -> Callable[[], T]:
    """Returns a function without parameters that returns a value of the present session. It calls `read` only if the
    value was read more than `seconds` ago.

    The function may run in any thread. Threads that need the value at the same time share one call of `read`, and its
    error.
    """
    key, calls = (_session(), name), g.get("api_calls", [])

    def find() -> T:
        read_at, value = _values.get(key, (-seconds, None))
        if time.monotonic() - read_at < seconds:
            return cast(T, value)
        mine: Future[T] = Future()
        with _lock:
            present = _reading.setdefault(key, mine)
        if present is mine:
            return _read(key, mine, read)
        begun_at = time.perf_counter()
        try:
            return cast(T, present.result())
        finally:  # the time was spent on a call of the API
            calls.append((begun_at, time.perf_counter()))

    return find


def _read(key: Key, mine: Future[T], read: Callable[[], T]) -> T:
    """Calls `read`, keeps its value and returns it. Threads that wait for the future `mine` get the same value or
    error. The value is not kept if `forget` was called meanwhile.
    """
    try:
        value = read()
    except BaseException as error:
        mine.set_exception(error)
        raise
    else:
        with _lock:
            if _reading.get(key) is mine:
                _put(key, value)
        mine.set_result(value)
        return value
    finally:
        with _lock:
            if _reading.get(key) is mine:
                del _reading[key]


def kept_for(name: str, seconds: float) -> Any | None:
    """Returns a value of the present session that was kept at most `seconds` ago, else None."""
    kept_at, value = _values.get((_session(), name), (-seconds, None))
    return value if time.monotonic() - kept_at < seconds else None


def keep(name: str, value: object) -> None:
    """Keeps a value of the present session that the current request has read anyway."""
    _put((_session(), name), value)


def forget(*names: str) -> None:
    """Forgets kept values of the present session after they were changed, so that the next screen reads them again."""
    session = _session()
    with _lock:
        for name in names:
            _values.pop((session, name), None)
            _reading.pop((session, name), None)


def _put(key: Key, value: object) -> None:
    if len(_values) >= _MOST:
        _values.clear()
    _values[key] = time.monotonic(), value


def _session() -> bytes:
    return hashlib.sha256(g.acting_token.encode()).digest()
