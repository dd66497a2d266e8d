"""A bounded number of concurrent tasks, so that a slow task does not delay the loop that starts it."""

import _thread
import threading
from collections.abc import Callable

import structlog

log = structlog.get_logger()


class Pool:
    """At most `size` concurrent tasks, in green threads of a service or real threads of tests."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._running = 0
        self._changed = threading.Condition()

    @property
    def free(self) -> int:
        return self._size - self._running

    def start(self, task: Callable[[], None]) -> None:
        """Starts the task now; check `free` first. Its errors are logged."""
        with self._changed:
            self._running += 1
        # Not an executor, which would wait at the end of the process for a server without an answer.
        _thread.start_new_thread(self._run, (task,))

    def wait_idle(self, timeout_seconds: float) -> bool:
        """Waits for all tasks, and returns whether they have ended."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._running, timeout_seconds)

    def _run(self, task: Callable[[], None]) -> None:
        try:
            task()
        except Exception:
            log.exception("task_failed")
        finally:
            with self._changed:
                self._running -= 1
                self._changed.notify_all()
