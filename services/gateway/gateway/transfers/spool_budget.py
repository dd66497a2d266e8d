"""A limit on the bytes that all uploads of this process hold in temporary files together."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from contracts.errors import SERVICE_UNAVAILABLE, ApiError

#: The Retry-After of a refused upload. Our choice: short enough for a person who waits.
_RETRY_SECONDS = 10
_MESSAGE = (
    "Too many uploads of unknown length are running; send the file with a Content-Length, or large files in parts: "
    "POST /media/uploads."
)


class SpoolBudget:
    """Counts the bytes that are left for temporary files. Thread-safe."""

    def __init__(self, max_bytes: int) -> None:
        self._free_bytes, self._lock = max_bytes, threading.Lock()

    @contextmanager
    def share(self) -> Iterator[Callable[[int], None]]:
        """Yields a function that reserves space for one file: call it with the file's new size in bytes before each
        write.

        If the budget is used up, the function raises SERVICE_UNAVAILABLE. The end of the `with` block frees the space.
        """
        taken = 0

        def grow(size_bytes: int) -> None:
            nonlocal taken
            with self._lock:
                if size_bytes - taken > self._free_bytes:
                    raise budget_used_up()
                self._free_bytes -= size_bytes - taken
                taken = size_bytes

        try:
            yield grow
        finally:
            with self._lock:
                self._free_bytes += taken


def budget_used_up() -> ApiError:
    return ApiError(SERVICE_UNAVAILABLE, _MESSAGE, retry_after_seconds=_RETRY_SECONDS)
