"""Worker loops: methods that every replica calls repeatedly. Claims on rows divide the work between replicas.

A loop runs again at once while it finds work (returns 1 or more), otherwise after its interval or when its `Waker`
wakes it. A run that hangs is killed at its deadline. A run that fails is logged, and tried again after the interval.

When a service stops, it ends its loops first, then waits for its calls and for tasks that the loops started. Loops with
`until_the_end` go on until these calls and tasks have ended, for example to renew the lease of the process.
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
#: How long a method marked by `finish` may wait: as long as calls may last. Supervisors must grant it before SIGKILL.
FINISH_SECONDS = 120.0


class TickTimedOut(Exception):
    """Raised in a run of a worker loop that did not end within its deadline."""


class Waker:
    """Makes worker loops run now, without waiting for the end of their interval.

    `DUE_POSTS = Waker()`, then `@loop(0.5, woken_by=DUE_POSTS)`. It wakes the loops of its own process, and does
    nothing where none run.
    """

    def __init__(self) -> None:
        self._signals: set[threading.Event] = set()

    def add(self, signal: threading.Event) -> None:
        """Registers the signal of one more loop that this waker wakes."""
        self._signals.add(signal)

    def wake(self) -> None:
        for signal in list(self._signals):
            signal.set()


class Loop(Entrypoint):
    """The nameko entrypoint behind `@loop(interval_seconds)`: runs a method repeatedly until the service stops."""

    expected_exceptions = (ApiError, TickTimedOut)

    def __init__(
        self, interval_seconds: float, deadline_seconds: float, until_the_end: bool, woken_by: Waker
    ) -> None:
        super().__init__()
        self._interval_seconds = interval_seconds
        self.deadline_seconds = deadline_seconds
        self.until_the_end = until_the_end
        self._stopping = False
        self._woken_by = woken_by
        self._signal = threading.Event()
        self._ended: Signal | None = None

    def start(self) -> None:
        self._woken_by.add(self._signal)
        self._ended = Signal()
        self.container.spawn_managed_thread(self._run, identifier=f"loop-{self.method_name}")

    def stop(self) -> None:
        if not self.until_the_end:
            self.end()

    def end(self) -> None:
        """Ends the loop, and waits until it has ended."""
        self._stopping = True
        self._signal.set()
        self.wait_ended()

    def wait_ended(self) -> None:
        if self._ended is not None:
            self._ended.wait()

    def _run(self) -> None:
        while not self._stopping:
            self._signal.clear()
            if self._tick() < 1 and not self._stopping:
                self._signal.wait(self._interval_seconds)
        assert self._ended is not None
        self._ended.send()

    def _tick(self) -> int:
        """Runs the method once, in a worker, and returns how many rows it processed; 0 if it failed or took too
        long."""
        done: Signal = Signal()

        def on_result(_context: Any, result: Any, exc_info: Any) -> tuple[Any, None]:
            if exc_info is not None:
                self._log(exc_info)
            done.send(0 if exc_info is not None else result)
            return None, None

        context = self.container.spawn_worker(self, (), {}, handle_result=on_result)
        try:
            with eventlet.Timeout(self.deadline_seconds, TickTimedOut):
                return int(done.wait() or 0)
        except TickTimedOut:
            log.error("loop_timed_out", loop=self.method_name, deadline_seconds=self.deadline_seconds)
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
    interval_seconds: float,
    deadline_seconds: float = 120.0,
    *,
    until_the_end: bool = False,
    woken_by: Waker | None = None,
) -> Callable[[F], F]:
    """Marks `def method(self) -> int`, which returns the number of rows it processed, as a worker loop.

    `until_the_end`: while the service stops, the loop goes on during the last calls and the method marked `@finish`,
    for example to renew the lease of the process. The database stays open until the loop has ended; the bus
    may be closed before.
    """

    def mark(function: F) -> F:
        register_entrypoint(
            function, Loop(interval_seconds, deadline_seconds, until_the_end, woken_by or Waker())
        )
        return function

    return mark


def repeat(use_case: Callable[[Any], int], interval_seconds: float, **options: Any) -> Callable[..., int]:
    """Makes the worker loop that runs `use_case(self.app)` repeatedly. The options are those of `loop`."""

    def method(self: Any) -> int:
        return use_case(self.app)

    return loop(interval_seconds, **options)(method)


def end_all(container: ServiceContainer) -> None:
    """Ends all worker loops of the service. Call it before closing the connections that they use."""
    for entrypoint in container.entrypoints:
        if isinstance(entrypoint, Loop):
            entrypoint.end()


class Finish(Entrypoint):
    """The nameko entrypoint behind `@finish`: runs a method when the service stops."""

    expected_exceptions = (ApiError,)

    def stop(self) -> None:
        """Waits until the loops without `until_the_end` have ended, then runs the method as a worker: the container
        waits for workers before it stops the objects that they use."""
        for entrypoint in self.container.entrypoints:
            if isinstance(entrypoint, Loop) and not entrypoint.until_the_end:
                entrypoint.wait_ended()
        self.container.spawn_worker(self, (), {})


def finish(function: F) -> F:
    """Marks `def method(self)`, which runs when the service stops and its loops have ended. The method waits for tasks
    that the loops have started."""
    register_entrypoint(function, Finish())
    return function
