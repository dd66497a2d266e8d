"""Periodic tasks of a gateway process, each in a thread of its own."""

import threading
from collections.abc import Callable

import structlog

log = structlog.get_logger()


class PeriodicTask:
    """Calls `task` again and again until stopped, `interval_seconds` after its last return or exception."""

    def __init__(self, interval_seconds: float, task: Callable[[], object]) -> None:
        self._interval_seconds = interval_seconds
        self._task = task
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name=task.__qualname__, daemon=True)

    def start(self) -> "PeriodicTask":
        self._thread.start()
        return self

    def stop(self) -> None:
        self._stopped.set()

    def _run(self) -> None:
        while not self._stopped.wait(self._interval_seconds):
            try:
                self._task()
            except Exception as error:  # noqa: BLE001 - the cause may be over when the task runs again
                log.warning("chore_failed", chore=self._task.__qualname__, error=repr(error))
