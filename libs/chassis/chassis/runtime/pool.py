"""A bounded number of tasks beside the loop that starts them: a slow one holds up nobody but itself."""

import _thread
import threading
from collections.abc import Callable

import structlog

log = structlog.get_logger()


class Pool:
    """At most `size` tasks at once (green threads in the service, real ones in tests)."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._running = 0
        self._changed = threading.Condition()

    @property
    def free(self) -> int:
        return self._size - self._running

    def start(self, task: Callable[[], None]) -> None:
        """Runs the task now. Ask `free` first; what it raises is logged."""
        with self._changed:
            self._running += 1
        # Not an executor: at the end of the process that one would wait for a server that does not answer.
        _thread.start_new_thread(self._run, (task,))

    def wait_idle(self, timeout_seconds: float) -> bool:
        """Whether nothing runs any more, waiting for it at most so long."""
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
