"""A cache for the objects of which a process has one."""

import threading
from collections.abc import Callable
from functools import cache, wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def locked_cache(make: Callable[P, T]) -> Callable[P, T]:
    """Decorates a function like `functools.cache`, but runs it once for the same arguments even when several threads
    call it before its first result. The others wait.

    `functools.cache` runs it for each of these threads: all loops of a service ask for its context at the start, and
    each would get one of its own. An error is not kept: the next call runs the function again.
    """
    lock, cached = threading.Lock(), cache(make)

    @wraps(make)
    def one(*args: P.args, **kwargs: P.kwargs) -> T:
        with lock:
            return cached(*args, **kwargs)

    return one
