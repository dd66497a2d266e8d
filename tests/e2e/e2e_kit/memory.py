"""Measures the memory of processes of the stack."""

import resource
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from e2e_kit.stack import Stack

_INTERVAL_SECONDS = 0.02
_PAGE_BYTES = resource.getpagesize()


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
    """Returns the resident memory of a process and of all processes below it."""
    pid = int((stack.run / "pids" / name).read_text())
    total = _resident(pid)
    for child in _below(pid):
        with suppress(ProcessLookupError, FileNotFoundError):  # it has ended
            total += _resident(child)
    return total


def _below(pid: int) -> Iterator[int]:
    """Yields the ids of all processes below a process.

    Reads the kernel's list of each thread's children. psutil reads the parent of every process of the machine instead.
    """
    for thread in Path(f"/proc/{pid}/task").glob("*"):
        try:
            children = (thread / "children").read_text().split()
        except (ProcessLookupError, FileNotFoundError):
            assert not thread.exists(), "this kernel lists no children"
            continue  # the thread has ended
        for child in map(int, children):
            yield child
            yield from _below(child)


def _resident(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE_BYTES
