"""A bounded pool of background calls to platforms: a slow platform delays no other call.

Rows are claimed only for free places: a claimed row that waits for a place would be kept from other processes.
"""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import structlog

log = structlog.get_logger()

Task = Callable[[], None]
T = TypeVar("T")


class InTurn:
    """Lets one task at a time work on each name, and the name that has waited longest first."""

    def __init__(self) -> None:
        self._busy: set[str] = set()
        self._begun_at: dict[str, float] = {}

    def in_turn(self, waiting: Mapping[str, T]) -> list[tuple[str, T]]:
        """Sorts the waiting names, the one that was begun longest ago first. Forgets names that no longer wait."""
        self._begun_at = {name: at for name, at in self._begun_at.items() if name in waiting}
        return sorted(waiting.items(), key=lambda item: self._begun_at.get(item[0], 0.0))

    def begin(self, name: str) -> bool:
        """Returns False when a task works on the name already."""
        if name in self._busy:
            return False
        self._busy.add(name)
        self._begun_at[name] = time.monotonic()
        return True

    def end(self, name: str) -> None:
        self._busy.discard(name)


class Pool:
    """Runs at most `size` tasks at once (green threads in the service, real ones in tests)."""

    def __init__(self, name: str, size: int) -> None:
        self.size = size
        self._executor = ThreadPoolExecutor(size, thread_name_prefix=name)
        self._changed = threading.Condition()
        self._filling = threading.Lock()
        #: Running tasks by kind of work, for every kind there has been.
        self._running: dict[str, int] = {}

    @property
    def free(self) -> int:
        return self.size - sum(self._running.values())

    def start(self, task: Task, kind: str = "") -> None:
        """Runs the task; an exception of it is logged. The caller must know that a place is free, as `fill` does."""
        with self._changed:
            self._running[kind] = self._running.get(kind, 0) + 1
        self._executor.submit(self._run, task, kind)

    def fill(self, kind: str, claim: Callable[[int], Sequence[Task]], most: int | None = None) -> int:
        """Starts the tasks that `claim` returns for the free places, at most `most` of them; returns how many.

        Kinds that share a pool claim one after the other, so that no place is promised twice.
        """
        with self._filling:
            places = self._free_for(kind)
            places = places if most is None else min(places, most)
            tasks = claim(places) if places > 0 else ()
            for task in tasks:
                self.start(task, kind)
        return len(tasks)

    def wait_free(self, count: int, timeout_seconds: float) -> bool:
        """Waits until `count` places are free; returns False when they are not in time."""
        with self._changed:
            return self._changed.wait_for(lambda: self.free >= count, timeout_seconds)

    def close(self) -> None:
        """Waits for the running tasks."""
        self._executor.shutdown()

    def _free_for(self, kind: str) -> int:
        """Returns the free places but one for each other kind that has nothing running: no kind takes all places."""
        with self._changed:
            own = self._running.setdefault(kind, 0)
            idle = sum(not running for running in self._running.values()) - (not own)
            return min(self.free, max(self.free - idle, 0 if own else 1))

    def _run(self, task: Task, kind: str) -> None:
        try:
            task()
        except Exception:
            log.exception("task_failed")
        finally:
            with self._changed:
                self._running[kind] -= 1
                self._changed.notify_all()
