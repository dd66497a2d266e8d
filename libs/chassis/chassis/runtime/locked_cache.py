"""A cache for objects of which a process must have only one."""

import threading
from collections.abc import Callable, Hashable
from functools import cache, wraps
from typing import TypeVar

T = TypeVar("T")


def locked_cache(make: Callable[..., T]) -> Callable[..., T]:
    """Decorates a function like `functools.cache`, but runs it once for the same arguments even when several threads
    call it before its first result. The others wait.

    With `functools.cache` each of these threads would run it: all loops of a service ask for its context at the start,
    and each would get another one. An error is not kept: the next call runs the function again.
    """
    lock, cached = threading.Lock(), cache(make)

    @wraps(make)
    def one(*args: Hashable) -> T:
        with lock:
            return cached(*args)

    return one
