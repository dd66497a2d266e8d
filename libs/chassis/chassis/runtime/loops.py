"""Worker loops: `run_once`-shaped methods that every replica runs; the claimed rows share the work.

A loop runs again at once while it finds work (returns 1 or more), and otherwise after its interval, or when woken.
A tick that hangs is ended at its deadline, and one that fails is logged and tried again after the interval.

Told to stop, a service ends its loops first, then waits for its calls and for what the loops began. Only a loop that
keeps alive what those work on runs as long as they do: `until_the_end`.
"""

import threading
from collections.abc import Callable
from typing import Any, TypeVar

import eventlet
import structlog
from eventlet.event import Event as Signal
from nameko.containers import ServiceContainer
from nameko.extensions import Entrypoint, register_entrypoint

from contracts.errors import SERVICE_UNAVAILABLE, ApiError

log = structlog.get_logger()
F = TypeVar("F", bound=Callable[..., Any])
#: How long what `finish` marks may wait: as calls may last, which whoever ends processes has to grant. Our choice.
FINISH_SECONDS = 120.0
#: Of each method name; services that share a process may have a name in common.
_wakers: dict[str, set[threading.Event]] = {}


class TickTimedOut(Exception):
    """A tick did not end within its deadline."""


def wake(name: str) -> None:
    """Makes the loop of this method name run now, in this process. Nothing happens where there is no such loop."""
    for waker in _wakers.get(name, ()):
        waker.set()


class Loop(Entrypoint):
    """`@loop(interval_seconds)`: see `loop`."""

    expected_exceptions = (ApiError, TickTimedOut)

    def __init__(self, interval_seconds: float, deadline_seconds: float, until_the_end: bool) -> None:
        super().__init__()
        self._interval_seconds = interval_seconds
        self._deadline_seconds = deadline_seconds
        self.until_the_end = until_the_end
        self._stopping = False
        self._waker = threading.Event()
        self._ended: Signal | None = None

    def start(self) -> None:
        _wakers.setdefault(self.method_name, set()).add(self._waker)
        self._ended = Signal()
        self.container.spawn_managed_thread(self._run, identifier=f"loop-{self.method_name}")

    def stop(self) -> None:
        if not self.until_the_end:
            self.end()

    def end(self) -> None:
        """Returns when it has ended; it may have before."""
        self._stopping = True
        self._waker.set()
        self.wait_ended()

    def wait_ended(self) -> None:
        if self._ended is not None:
            self._ended.wait()

    def _run(self) -> None:
        while not self._stopping:
            self._waker.clear()
            if self._tick() < 1 and not self._stopping:
                self._waker.wait(self._interval_seconds)
        assert self._ended is not None
        self._ended.send()

    def _tick(self) -> int:
        """Runs the method in a worker of its own; a failure counts as nothing done."""
        done: Signal = Signal()

        def on_result(_context: Any, result: Any, exc_info: Any) -> tuple[Any, None]:
            if exc_info is not None:
                self._log(exc_info)
            done.send(0 if exc_info is not None else result)
            return None, None

        context = self.container.spawn_worker(self, (), {}, handle_result=on_result)
        try:
            with eventlet.Timeout(self._deadline_seconds, TickTimedOut):
                return int(done.wait() or 0)
        except TickTimedOut:
            log.error("loop_timed_out", loop=self.method_name, deadline_seconds=self._deadline_seconds)
            worker = self.container._worker_threads.get(context)
            if worker is not None:
                worker.kill()
            return 0

    def _log(self, exc_info: Any) -> None:
        error = exc_info[1]
        if isinstance(error, ApiError) and error.row is SERVICE_UNAVAILABLE:
            log.warning("loop_waits", loop=self.method_name, reason=error.message)
        else:
            log.error("loop_failed", loop=self.method_name, exc_info=exc_info)


def loop(
    interval_seconds: float, deadline_seconds: float = 120.0, *, until_the_end: bool = False
) -> Callable[[F], F]:
    """Marks `def method(self) -> int` as a worker loop; it returns how many rows it worked on.

    `until_the_end`: it goes on while the last calls run and what `finish` waits for, as renewing their leases must.
    The database stays open for it; the bus may be closed by then.
    """

    def mark(function: F) -> F:
        register_entrypoint(function, Loop(interval_seconds, deadline_seconds, until_the_end))
        return function

    return mark


def end_all(container: ServiceContainer) -> None:
    """Returns when no loop of the service runs any more. For whoever takes away what they use."""
    for entrypoint in container.entrypoints:
        if isinstance(entrypoint, Loop):
            entrypoint.end()


class Finish(Entrypoint):
    """`@finish`: see `finish`."""

    expected_exceptions = (ApiError,)

    def stop(self) -> None:
        """The container waits for workers before it stops what they use: so it waits for this one."""
        for entrypoint in self.container.entrypoints:
            if isinstance(entrypoint, Loop) and not entrypoint.until_the_end:
                entrypoint.wait_ended()
        self.container.spawn_worker(self, (), {})


def finish(function: F) -> F:
    """Marks `def method(self)`: called when the service has been told to stop and its loops have ended. Returns once
    what they started beside themselves is done, or may be left.
    """
    register_entrypoint(function, Finish())
    return function
