"""Runs a limited number of tasks at the same time, so that a slow task does not delay the loop that starts it.

Rows are claimed only for free places: a claimed row that waits for a place would be kept from other processes.
"""

import _thread
import threading
from collections.abc import Callable, Sequence

import structlog

log = structlog.get_logger()

Task = Callable[[], None]


class Pool:
    """Runs at most `size` tasks at once, in green threads of a service or real threads of tests.

    Each task has a kind of work. `fill` leaves a place for each other kind that has no running task.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._places = threading.BoundedSemaphore(size)
        self._changed = threading.Condition()
        self._filling = threading.Lock()
        #: Started tasks by kind of work, for every kind there has been.
        self._running: dict[str, int] = {}

    @property
    def free(self) -> int:
        return self.size - sum(self._running.values())

    def start(self, task: Task, kind: str = "") -> None:
        """Starts a new thread for the task, and returns at once. The task runs when one of the pool's places is free.

        `fill` starts only as many tasks as there are free places. Errors of the task are logged.
        """
        with self._changed:
            self._running[kind] = self._running.get(kind, 0) + 1
        # Not an executor, which would wait at the end of the process for a server without an answer.
        _thread.start_new_thread(self._run, (task, kind))

    def fill(self, kind: str, claim: Callable[[int], Sequence[Task]], most: int | None = None) -> int:
        """Claims tasks of one kind for the free places and starts them. Returns how many it started.

        `claim(count)` returns at most `count` tasks; `count` is the number of free places, but at most `most`. Only one
        thread at a time runs `fill` on a pool, so that no place is used twice.
        """
        with self._filling:
            places = self._free_for(kind)
            places = places if most is None else min(places, most)
            tasks = claim(places) if places > 0 else ()
            for task in tasks:
                self.start(task, kind)
        return len(tasks)

    def wait_free(self, count: int, timeout_seconds: float) -> bool:
        """Waits until `count` places are free. Returns False when fewer are free at the timeout."""
        with self._changed:
            return self._changed.wait_for(lambda: self.free >= count, timeout_seconds)

    def wait_idle(self, timeout_seconds: float) -> bool:
        """Waits for all tasks. Returns False if some still run after `timeout_seconds`."""
        return self.wait_free(self.size, timeout_seconds)

    def _free_for(self, kind: str) -> int:
        """Returns how many places this kind may take now.

        One free place is left for each other kind that has nothing running, so that no kind takes all places.
        """
        with self._changed:
            own = self._running.setdefault(kind, 0)
            idle = sum(not running for running in self._running.values()) - (not own)
            return min(self.free, max(self.free - idle, 0 if own else 1))

    def _run(self, task: Task, kind: str) -> None:
        try:
            with self._places:
                task()
        except Exception:
            log.exception("task_failed")
        finally:
            with self._changed:
                self._running[kind] -= 1
                self._changed.notify_all()
