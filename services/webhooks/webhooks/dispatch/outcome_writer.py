"""Records the outcomes of many attempts in one statement.

While one statement runs, the next outcomes gather: a lone one is written at once, hundreds share a commit. They are
written in the order of the answers, also after an outage of the database: that is the order in which failures in a row
are counted.
"""

import time

import structlog

from chassis.db.batches import Batches
from chassis.db.database import Database
from contracts.errors import SERVICE_UNAVAILABLE, ApiError
from webhooks.records import Outcome, Recorded
from webhooks.store.endpoint_queues import EndpointQueues

log = structlog.get_logger()

#: Between two tries while the database is away. Our choice.
_PAUSE_SECONDS = 0.5


class OutcomeWriter:
    """One per process."""

    def __init__(self, database: Database, lease_seconds: float) -> None:
        self._database = database
        self._lease_seconds = lease_seconds
        self._batches: Batches[Outcome, Recorded | None] = Batches(self._commit)

    def write(self, outcome: Outcome) -> Recorded | None:
        """Returns None when another process has the queue: nothing was written then.

        Waits for an absent database as long as a lease lasts after the newest answer of those written together.
        Then it raises ApiError SERVICE_UNAVAILABLE, and the process that has the queue next repeats the attempt. The
        fence makes a late write harmless.
        """
        return self._batches.submit(outcome)

    def _commit(self, outcomes: list[Outcome]) -> list[Recorded | None]:
        give_up_at = max(one.answered_at for one in outcomes) + self._lease_seconds
        while True:
            try:
                with self._database.reading() as connection:
                    recorded = EndpointQueues(connection).record(outcomes, self._lease_seconds)
                break
            except ApiError as error:
                if error.row is not SERVICE_UNAVAILABLE or time.monotonic() > give_up_at:
                    raise
                time.sleep(_PAUSE_SECONDS)
        disabled = {
            one.subscription_id: one.disabled_reason for one in recorded.values() if one.disabled_reason
        }
        for subscription_id, reason in disabled.items():
            log.info("webhook_disabled", webhook_id=subscription_id, reason=reason)
        return [recorded.get(one.delivery_id) for one in outcomes]
