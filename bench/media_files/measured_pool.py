"""A sandbox pool that knows the CPU and the memory of each process that has worked, even of one that crashed."""

import os
import selectors
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from socket import socket
from typing import Any

import msgspec

from chassis.sandbox.pool import Limits, SandboxPool
from contracts.record import Record

#: A process that has answered ends within milliseconds, one that is killed for its limits a few seconds later.
_END_SECONDS = 10.0


class Used(Record):
    """What one process used; for a program, together with the process that waits for it."""

    cpu_seconds: float = 0.0
    #: The largest resident set.
    memory_bytes: int = 0


def pipe_of(pid: int) -> Path:
    """Returns the path of the named pipe in which the benchmark with this process id reads."""
    return Path(tempfile.gettempdir(), f"posthaste-bench-{pid}")


class MeasuredPool(SandboxPool):
    """Runs the work of the media service as the service does, in the same sandbox. Only one piece of work at a time."""

    def __init__(self, limits: Limits) -> None:
        # The fork server must find this package.
        root = str(Path(__file__).parents[2])
        if root not in (paths := os.environ.get("PYTHONPATH", "").split(os.pathsep)):
            os.environ["PYTHONPATH"] = os.pathsep.join([root, *filter(None, paths)])
        super().__init__("bench.media_files.measured_work", limits, at_once=1)
        #: What each process used since `taken`.
        self._used: list[Used] = []
        path = pipe_of(os.getpid())
        path.unlink(missing_ok=True)
        os.mkfifo(path, 0o600)
        # For reading and writing, so that opening does not wait for the fork server.
        self._pipe = os.fdopen(os.open(path, os.O_RDWR | os.O_CLOEXEC), "rb", buffering=0)

    def taken(self) -> Used:
        """Returns the CPU of all processes since the last call, and the memory of the largest of them."""
        used, self._used = self._used, []
        return Used(
            cpu_seconds=sum(it.cpu_seconds for it in used),
            memory_bytes=max((it.memory_bytes for it in used), default=0),
        )

    def close(self) -> None:
        super().close()
        self._pipe.close()
        pipe_of(os.getpid()).unlink(missing_ok=True)

    @contextmanager
    def _sent(self, order: Any, files: Sequence[int], *, has_turn: bool = False) -> Iterator[socket]:
        with super()._sent(order, files, has_turn=has_turn) as channel:
            try:
                yield channel
            finally:
                channel.close()
                self._used.append(self._read())

    def _read(self) -> Used:
        with selectors.DefaultSelector() as ready:
            ready.register(self._pipe, selectors.EVENT_READ)
            if not ready.select(_END_SECONDS):
                raise TimeoutError("a process of the sandbox has not ended")
            return msgspec.json.decode(self._pipe.readline(), type=Used)
