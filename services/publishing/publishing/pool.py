"""A bounded pool for calls to the platforms: a slow one holds up nobody but itself."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import structlog

log = structlog.get_logger()


class Pool:
    """At most `size` tasks at once (green threads in the service, real ones in tests)."""

    def __init__(self, name: str, size: int) -> None:
        self.size = size
        self._executor = ThreadPoolExecutor(size, thread_name_prefix=name)
        self._changed = threading.Condition()
        self._running = 0

    @property
    def free(self) -> int:
        return self.size - self._running

    def start(self, task: Callable[[], None]) -> None:
        """Runs the task soon; what it raises is logged."""
        with self._changed:
            self._running += 1
        self._executor.submit(self._run, task)

    def wait_free(self, count: int, timeout_seconds: float) -> bool:
        """Waits until that many places are free; False when they are not in time."""
        with self._changed:
            return self._changed.wait_for(lambda: self.free >= count, timeout_seconds)

    def close(self) -> None:
        """Waits for what runs."""
        self._executor.shutdown()

    def _run(self, task: Callable[[], None]) -> None:
        try:
            task()
        except Exception:
            log.exception("task_failed")
        finally:
            with self._changed:
                self._running -= 1
                self._changed.notify_all()
