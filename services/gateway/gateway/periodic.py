"""Chores of a gateway process: small functions called again and again in a thread of their own."""

import threading
from collections.abc import Callable

import structlog

log = structlog.get_logger()


class PeriodicTask:
    """Calls `chore` every `interval_seconds` until stopped. A chore that fails is called again next time."""

    def __init__(self, interval_seconds: float, chore: Callable[[], object]) -> None:
        self._interval_seconds = interval_seconds
        self._chore = chore
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name=chore.__qualname__, daemon=True)

    def start(self) -> "PeriodicTask":
        self._thread.start()
        return self

    def stop(self) -> None:
        self._stopped.set()

    def _run(self) -> None:
        while not self._stopped.wait(self._interval_seconds):
            try:
                self._chore()
            except Exception as error:  # noqa: BLE001 - an outage now is no reason not to try again
                log.warning("chore_failed", chore=self._chore.__qualname__, error=repr(error))
