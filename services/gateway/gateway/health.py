"""/healthz: the process lives. /readyz: every service behind it answers through the bus.

Anybody may ask, so the answer is one word, and asking often costs nothing: the services are pinged at most once a
second in each process, and everybody who asks meanwhile shares the result. Which services are away, and why, is for
the operator alone: the log says it when it changes, `posthaste service list` asks afresh.
"""

import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import structlog

from chassis.bus.pending import reason_of
from contracts.errors import ApiError

log = structlog.get_logger()

#: How long the services have to answer, all at once. Our choice.
READY_SECONDS = 2.0
#: How long a result is shared. Our choice: as often as the fastest of the usual probes.
SHARED_SECONDS = 1.0
_SILENT = f"did not answer within {READY_SECONDS:g} s"


class _Check:
    """One ping of each service, under way or over. Answers come in the bus's I/O thread."""

    def __init__(self, bus: Any, services: tuple[str, ...], began_at: float) -> None:
        self.began_at = began_at
        self._away: dict[str, str] = dict.fromkeys(services, _SILENT)
        self._waiting = set(services)
        self._lock = threading.Lock()
        self._over = threading.Event()
        if not services:
            self._over.set()
        for service in services:
            bus.start_ping(service, READY_SECONDS, partial(self._answered, service))

    @property
    def is_over(self) -> bool:
        return self._over.is_set()

    def away(self, within_seconds: float) -> Mapping[str, str]:
        """The services that do not answer, and why; waits for the others at most so long."""
        self._over.wait(within_seconds)
        with self._lock:
            return dict(self._away)

    def _answered(self, service: str, pending: Any) -> None:
        try:
            pending.result()
            reason = None
        except ApiError as error:
            reason = reason_of(error)
        with self._lock:
            self._waiting.discard(service)
            if reason is None:
                self._away.pop(service, None)
            else:
                self._away[service] = reason
            if not self._waiting:
                self._over.set()


class Readiness:
    """Whether every service answers. One per process; thread safe."""

    def __init__(
        self, bus: Any, services: tuple[str, ...], monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._bus = bus
        self._services = services
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._check: _Check | None = None
        self._told: Mapping[str, str] = {}

    def is_ready(self) -> bool:
        """Answers within READY_SECONDS, whatever the services do."""
        check = self._current()
        away = check.away(max(check.began_at + READY_SECONDS - self._monotonic(), 0))
        self._tell(away)
        return not away

    def _current(self) -> _Check:
        """The check that is under way or fresh, else a new one."""
        with self._lock:
            now, check = self._monotonic(), self._check
            shared = SHARED_SECONDS if check is None or check.is_over else READY_SECONDS
            if check is None or now - check.began_at >= shared:
                check = self._check = _Check(self._bus, self._services, now)
            return check

    def _tell(self, away: Mapping[str, str]) -> None:
        """Writes a line when the result has changed."""
        with self._lock:
            if away == self._told:
                return
            self._told = away
        if away:
            log.warning("services_away", services=dict(away))
        else:
            log.info("services_answer")
