"""/readyz: whether every service answers through the bus. (/healthz only says that the process lives.)

Both are public. So the answer is one word, and each process pings the services at most once a second and shares the
result. The operator finds in the log, or with `posthaste service list`, which services are away and why.
"""

import threading
import time
from collections.abc import Callable, Mapping
from functools import partial

import structlog

from chassis.bus.pending import PendingCall, reason_of
from chassis.bus.rpc import Bus
from contracts.errors import ApiError

log = structlog.get_logger()

#: How long all services together have to answer. Our choice.
READY_SECONDS = 2.0
#: How long a result is shared. Our choice: the interval of the fastest usual probes.
SHARED_SECONDS = 1.0
_SILENT = f"did not answer within {READY_SECONDS:g} s"


class _Check:
    """One ping of each service. Answers arrive in the bus's I/O thread."""

    def __init__(self, bus: Bus, services: tuple[str, ...], began_at: float) -> None:
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
        """Returns which services do not answer, and why (name → reason). Waits at most `within_seconds` for answers."""
        self._over.wait(within_seconds)
        with self._lock:
            return dict(self._away)

    def _answered(self, service: str, pending: PendingCall) -> None:
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
    """Checks whether every service answers. One per process; thread-safe."""

    def __init__(
        self, bus: Bus, services: tuple[str, ...], monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._bus = bus
        self._services = services
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._check: _Check | None = None
        self._logged: Mapping[str, str] = {}

    def is_ready(self) -> bool:
        """Whether every service answers. Returns within READY_SECONDS, even if services do not answer."""
        check = self._current()
        away = check.away(max(check.began_at + READY_SECONDS - self._monotonic(), 0))
        self._log_change(away)
        return not away

    def _current(self) -> _Check:
        """Returns the check that is running or has just ended; if there is none, starts one."""
        with self._lock:
            now, check = self._monotonic(), self._check
            shared = SHARED_SECONDS if check is None or check.is_over else READY_SECONDS
            if check is None or now - check.began_at >= shared:
                check = self._check = _Check(self._bus, self._services, now)
            return check

    def _log_change(self, away: Mapping[str, str]) -> None:
        """Logs which services are away, if that has changed."""
        with self._lock:
            if away == self._logged:
                return
            self._logged = away
        if away:
            log.warning("services_away", services=dict(away))
        else:
            log.info("services_answer")
