"""Asks the service `quota` to refund the units that were counted for calls without effect."""

from collections.abc import Iterable

import structlog

from chassis.bus.clients import remote
from contracts.caller import Caller
from contracts.errors import ApiError
from contracts.quota import QuotaApi
from contracts.record import Nothing

log = structlog.get_logger()

#: Buckets whose units are given back (decisions: reads and writes count every call that passed limits and scope).
REFUNDED_BUCKETS = frozenset({"publishes", "replies"})
#: How long a request waits for its refund before it answers. The service `quota` takes some milliseconds.
_TIMEOUT_SECONDS = 2.0


class Refunds:
    """Asks the service `quota` to refund units of monthly counters.

    If this call gets lost, `quota` later asks the service `publishing` whether the operation that used the unit had an
    effect.
    """

    def __init__(self, quota: QuotaApi) -> None:
        self._refund = remote(quota.refund)

    def give_back(self, callers: Iterable[Caller], *, waits: bool) -> None:
        """Refunds the units of the operations that these callers carry, for all tries so far.

        If `waits` is true, waits at most 2 s until all are refunded. Otherwise returns at once.
        """
        sent = [
            (caller, self._refund.start(caller, Nothing(), timeout_seconds=_TIMEOUT_SECONDS))
            for caller in callers
        ]
        for caller, refund in sent if waits else ():
            try:
                refund.result()
            except ApiError as error:
                log.warning("refund_not_confirmed", code=error.code, operation_id=caller.operation_id)
