"""Records the outcomes of many attempts in one statement.

While one statement runs, the next outcomes are collected. So a single outcome is written at once, and under load
hundreds share a commit. The outcomes of one endpoint are written in the order of the receiver's answers, even after an
outage of the database, because failures in a row are counted in that order.
"""

import time
from collections.abc import Sequence
from itertools import chain

import structlog

from chassis.db.batches import Batches
from chassis.db.database import Database, LockTimeout
from contracts.errors import SERVICE_UNAVAILABLE, ApiError
from webhooks.records import Outcome, Recorded
from webhooks.store.endpoint_queues import EndpointQueues

log = structlog.get_logger()

#: Wait between two tries while the database is away or a row is locked: short beside the 10 s of an attempt.
_PAUSE_SECONDS = 0.2
_Results = list[Recorded | None]


class OutcomeWriter:
    """Records the outcomes of attempts for all endpoint queues of a process. Outcomes that arrive while a statement
    runs share the next one. One object per process.
    """

    def __init__(self, database: Database, lease_seconds: float) -> None:
        self._database = database
        self._lease_seconds = lease_seconds
        self._endpoints: Batches[Sequence[Outcome], _Results] = Batches(self._record)

    def write(self, outcomes: Sequence[Outcome]) -> _Results:
        """Records outcomes of one endpoint, in this order. Returns for each what it changed; None for one that was not
        recorded because another process holds the queue.

        Waits while the database is down or another transaction has locked a row. Raises ApiError SERVICE_UNAVAILABLE if
        that lasts for longer than a lease, counted from the newest answer of the receiver: then the next process that
        holds the queue repeats the attempts. The fencing token makes a late write harmless.

        The outcomes of several endpoints share a statement. If this statement meets a locked row, the outcomes of each
        endpoint are written alone, so that the locked endpoint does not delay the others again.
        """
        give_up_at = max(one.answered_at for one in outcomes) + self._lease_seconds
        is_alone = False
        while True:
            try:
                return self._record([outcomes])[0] if is_alone else self._endpoints.submit(outcomes)
            except ApiError as error:
                if error.row is not SERVICE_UNAVAILABLE or time.monotonic() > give_up_at:
                    raise
                is_alone = isinstance(error, LockTimeout)
                time.sleep(_PAUSE_SECONDS)

    def _record(self, endpoints: Sequence[Sequence[Outcome]]) -> list[_Results]:
        with self._database.reading() as connection:
            recorded = EndpointQueues(connection).record(
                list(chain.from_iterable(endpoints)), self._lease_seconds
            )
        disabled = {one.subscription_id: one.disabled_reason for one in recorded.values()}
        for subscription_id, reason in disabled.items():
            if reason is not None:
                log.info("webhook_disabled", webhook_id=subscription_id, reason=reason)
        return [[recorded.get(one.delivery_id) for one in outcomes] for outcomes in endpoints]
