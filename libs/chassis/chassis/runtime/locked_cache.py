"""A cache for objects of which a process must have only one."""

import threading
from collections.abc import Callable, Hashable
from functools import cache, wraps
from typing import TypeVar

T = TypeVar("T")


def locked_cache(make: Callable[..., T]) -> Callable[..., T]:
    """Decorates a function like `functools.cache`, with a lock: for the same arguments it runs only once, even if
    several threads call it before there is a result. The other threads wait for the result.

    All loops of a service ask for its context when they start. With `functools.cache` each of them could make another
    context. An error is not kept: the next call runs the function again.
    """
    lock, cached = threading.Lock(), cache(make)

    @wraps(make)
    def one(*args: Hashable) -> T:
        with lock:
            return cached(*args)

    return one
