"""The service's metrics. Names and labels: docs/observability.md."""

from contextlib import AbstractContextManager
from typing import Any

from chassis.db.database import Database
from chassis.runtime import gauges
from chassis.telemetry import tracing
from chassis.telemetry.metrics import WAIT_SECONDS, Counter, Gauge, Histogram
from webhooks.records import DueDelivery, Outcome
from webhooks.store.endpoint_queues import EndpointQueues

ATTEMPTS = Counter(
    "posthaste.webhook.attempts",
    "{attempt}",
    "Attempts, by the state of the delivery afterwards and by error.",
)
LAG = Histogram(
    "posthaste.webhook.lag",
    "s",
    "From an event's arrival to its acknowledgement, by first or later attempt.",
    WAIT_SECONDS,
)
BACKLOG = Gauge("posthaste.webhook.backlog", "{delivery}", "Deliveries whose next attempt is due.")
OLDEST = Gauge("posthaste.webhook.backlog.age", "s", "How long the oldest of them has been due.")


def delivering(due: DueDelivery) -> AbstractContextManager[Any]:
    """Opens the tracing span of an attempt, from before the call until its outcome is recorded."""
    named: dict[str, str | int] = {"delivery_id": due.id, "event": due.event, "attempt": due.attempts + 1}
    return tracing.working("deliver webhook", due.traceparent, "webhooks", due.account_id, **named)


def note_attempt(due: DueDelivery, outcome: Outcome, state: str, loaded_seconds: float) -> None:
    """Counts an attempt in the metrics. `state`: the state of the delivery afterwards; `loaded_seconds`: the time since
    the delivery was loaded."""
    ATTEMPTS.add(1, {"state": state, "error": outcome.error or "none"})
    if state == "delivered":
        first = "first" if due.attempts == 0 else "later"
        LAG.record(due.age_seconds + loaded_seconds, {"attempt": first})


def watch_backlog(database: Database) -> None:
    def look() -> tuple[int, float]:
        with database.reading() as connection:
            return EndpointQueues(connection).backlog()

    gauges.watch_backlog(BACKLOG, OLDEST, look)
