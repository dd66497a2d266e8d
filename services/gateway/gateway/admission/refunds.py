"""At the door of a request: quota's verdict, and the month unit given back when a call failed."""

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Any

import structlog

from contracts.caller import Caller
from contracts.errors import ERRORS, ApiError
from contracts.quota import Admitted, QuotaApi, Refund
from gateway.idempotency.keys import leaves_outcome_open

if TYPE_CHECKING:
    from gateway.exchange import Exchange

log = structlog.get_logger()

#: Buckets whose units go back when the call failed (decisions: reads and writes count what passed limits and scope).
RETURNED = frozenset({"publishes", "replies"})
#: How long a request waits for its refund before it answers; quota takes some milliseconds. Our choice.
_TIMEOUT_SECONDS = 2.0
#: Tokens remembered as over a limit. Our choice.
_MOST_BRAKES = 10_000


def refused(admitted: Admitted) -> ApiError | None:
    """The limit that was hit, as the error of its code."""
    if admitted.refused_code is None:
        return None
    extras: dict[str, Any] = admitted.refused_extras
    return ApiError(ERRORS[admitted.refused_code], **extras)


class LimitedTokens:
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


def makes_nothing(exchange: "Exchange", error: ApiError) -> bool:
    """Whether this refusal is the last word on the operation, which then has made nothing and gives its unit back.

    Not where the outcome is open, nor where an earlier try may have made something: quota asks publishing about those.
    """
    is_open = exchange.handled and leaves_outcome_open(error, sends=True)
    return not (is_open or exchange.was_tried)


class Refunds:
    """Gives month units back. One that quota does not take is given back when quota asks what the call has made."""

    def __init__(self, quota: QuotaApi) -> None:
        self._quota = quota

    def give_back(self, callers: Iterable[Caller], *, waits: bool) -> None:
        """The units of these callers' operations, as of their tries. `waits`: returns when they are back, or in 2 s."""
        call: Any = self._quota.refund  # a proxy's: its type tells of the plain call alone
        sent = [
            (caller, call.start(caller, Refund(), timeout_seconds=_TIMEOUT_SECONDS)) for caller in callers
        ]
        for caller, refund in sent if waits else ():
            try:
                refund.result()
            except ApiError as error:
                log.warning("refund_not_confirmed", code=error.code, operation_id=caller.operation_id)
