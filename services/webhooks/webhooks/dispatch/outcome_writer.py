"""Writes down what many attempts came to, in one statement.

While one statement runs, what comes next gathers: with one attempt nothing waits, with hundreds a commit is shared.
"""

import time

import structlog

from chassis.db.batches import Batches
from chassis.db.database import Database
from contracts.errors import SERVICE_UNAVAILABLE, ApiError
from webhooks.records import Entry
from webhooks.store.endpoint_queues import Lanes, Settled, Stood

log = structlog.get_logger()

#: While the database is away an outcome is written again after this long. Our choice.
_PAUSE_SECONDS = 0.5


class Scribe:
    """One per process."""

    def __init__(self, database: Database, lease_seconds: float) -> None:
        self._database = database
        self._lease_seconds = lease_seconds
        self._batches: Batches[Entry, bool] = Batches(self._commit)

    def write(self, entry: Entry) -> bool:
        """False when the lane is somebody else's: nothing was written then.

        While the database is away it waits, as long as a lane lasts; then raises ApiError SERVICE_UNAVAILABLE, and the
        delivery is tried anew by whoever has the lane.
        """
        give_up_at = time.monotonic() + self._lease_seconds
        while True:
            try:
                return self._batches.submit(entry)
            except ApiError as error:
                if error.row is not SERVICE_UNAVAILABLE or time.monotonic() > give_up_at:
                    raise
                time.sleep(_PAUSE_SECONDS)

    def _commit(self, entries: list[Entry]) -> list[bool]:
        stood: dict[str, Stood] = {}
        for entry in sorted(entries, key=lambda entry: (entry.tried.fence, entry.outcome_number)):
            stood[entry.tried.subscription_id] = _stood(entry, stood.get(entry.tried.subscription_id))
        settled = [_settled(entry) for entry in entries]
        with self._database.reading() as connection:
            held = Lanes(connection).record(settled, list(stood.values()), self._lease_seconds)
        for one in stood.values():
            if held.get(one.subscription_id):
                log.info("webhook_disabled", webhook_id=one.subscription_id, reason=one.reason)
        return [entry.tried.subscription_id in held for entry in entries]


def _stood(entry: Entry, before: Stood | None) -> Stood:
    """How the subscription stands after this attempt and those before it."""
    standing = entry.verdict.standing
    return Stood(
        subscription_id=entry.tried.subscription_id,
        fence=entry.tried.fence,
        failures=standing.consecutive_failures,
        outcome_number=entry.outcome_number,
        enabled_count=entry.enabled_count,
        has_delivered=entry.verdict.state == "delivered" or (before is not None and before.has_delivered),
        reason=standing.disabled_reason,
    )


def _settled(entry: Entry) -> Settled:
    tried, verdict = entry.tried, entry.verdict
    return Settled(
        subscription_id=tried.subscription_id,
        id=tried.delivery_id,
        number=tried.number,
        due_at=tried.due_at,
        state=verdict.state,
        wait=verdict.wait_seconds,
        has_failed=verdict.state != "delivered",
        ago=time.monotonic() - tried.began,
        duration_ms=tried.duration_ms,
        status_code=tried.status_code,
        error=tried.error,
        answer=tried.answer,
    )
