"""At the door of a request: quota's verdict, and the month unit given back when a call failed."""

import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any

import structlog

from contracts.caller import Caller
from contracts.errors import ERRORS, ApiError
from contracts.quota import Admitted, QuotaApi, Refund

if TYPE_CHECKING:
    from gateway.exchange import Exchange

log = structlog.get_logger()

#: Units that go back when the call failed (decisions: reads and writes count what passed limits and scope).
_RETURNED = frozenset({"publishes", "replies"})
#: Refunds that wait for quota to come back; the oldest give way. Our choice.
_MOST_WAITING = 10_000
_TIMEOUT_SECONDS = 2.0
#: Tokens remembered as over a limit. Our choice.
_MOST_BRAKES = 10_000


def refused(admitted: Admitted) -> ApiError | None:
    """The limit that was hit, as the error of its code."""
    if admitted.refused_code is None:
        return None
    extras: dict[str, Any] = admitted.refused_extras
    return ApiError(ERRORS[admitted.refused_code], **extras)


class Brakes:
    """Tokens that met a limit in this minute: their reads wait for quota's verdict before they cost anything."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self._until: dict[str, datetime] = {}

    def note(self, exchange: "Exchange") -> None:
        if len(self._until) >= _MOST_BRAKES:
            self._until = {}
        if exchange.admitted is not None:
            self._until[exchange.identity.token.id] = exchange.admitted.window.resets_at

    def holds(self, exchange: "Exchange") -> bool:
        until = self._until.get(exchange.identity.token.id)
        return until is not None and self._now() < until


class Refunds:
    """Gives month units back, at once or as soon as quota answers. Idempotent by operation id."""

    def __init__(self, quota: QuotaApi) -> None:
        self._quota = quota
        self._waiting: deque[tuple[Caller, Refund]] = deque(maxlen=_MOST_WAITING)
        self._lock = threading.Lock()

    def give_back(self, caller: Caller, meter: str, year_month: str, *, at_once: bool = True) -> None:
        """`at_once`: the request has time left for it; else, and while quota is away, it happens in the background."""
        if meter not in _RETURNED:
            return
        refund = Refund(meter=meter, year_month=year_month)
        if self._waiting or not at_once or not self._sent(caller, refund):
            self._waiting.append((caller, refund))

    @property
    def is_behind(self) -> bool:
        """Some wait, or are on their way out of waiting."""
        return bool(self._waiting)

    def send_waiting(self) -> bool:
        """Sends what waits, oldest first, until quota does not answer; whether nothing waits any more."""
        with self._lock:
            while self._waiting:
                oldest = self._waiting[0]
                if not self._sent(*oldest):
                    return False
                with suppress(ValueError):  # it gave way
                    self._waiting.remove(oldest)
        return True

    def _sent(self, caller: Caller, refund: Refund) -> bool:
        try:
            self._quota.refund(caller, refund, timeout_seconds=_TIMEOUT_SECONDS)  # type: ignore[call-arg]
        except ApiError as error:
            if error.row.http_status < 500:
                log.error("refund_refused", code=error.code, operation_id=caller.operation_id)
                return True
            return False
        return True
