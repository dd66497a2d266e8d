"""Measures the memory of processes of the stack."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psutil

from e2e_kit.stack import Stack

_INTERVAL_SECONDS = 0.02


class Growth:
    """The largest growth so far since the beginning of the block, in bytes."""

    def __init__(self) -> None:
        self.bytes = 0


@contextmanager
def growth_of(stack: Stack, name: str) -> Iterator[Growth]:
    """Measures during the block how much the resident memory of a process and its children grows."""
    begin, growth, end = resident_bytes(stack, name), Growth(), threading.Event()

    def watch() -> None:
        while not end.wait(_INTERVAL_SECONDS):
            growth.bytes = max(growth.bytes, resident_bytes(stack, name) - begin)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield growth
    finally:
        end.set()
        watcher.join()


def resident_bytes(stack: Stack, name: str) -> int:
    master = psutil.Process(int((stack.run / "pids" / name).read_text()))
    total = 0
    for process in (master, *master.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):
            total += process.memory_info().rss
    return total
