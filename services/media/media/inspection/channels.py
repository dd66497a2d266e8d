"""Channels between the service and a sandboxed process, through which they exchange bytes."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from contracts.errors import ApiError


@contextmanager
def channel(work: Callable[[socket.socket], None]) -> Iterator[int]:
    """Opens a channel and yields its end for a sandboxed process, as a descriptor. A thread runs `work` with the
    other end.

    An ApiError of `work` is raised at the block's end, whatever the process returned.
    """
    ours, theirs = socket.socketpair()
    errors: list[ApiError] = []

    def run() -> None:
        with ours:
            try:
                work(ours)
            except ApiError as error:
                errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        with theirs:
            yield theirs.fileno()
    finally:
        thread.join()
        if errors:
            raise errors[0]
