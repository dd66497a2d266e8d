"""What the service measures of its own work. Names and labels: docs/observability.md."""

from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Any

from chassis.db.database import Database
from chassis.telemetry import tracing
from chassis.telemetry.metrics import WAIT_SECONDS, Counter, Gauge, Histogram, Reading
from webhooks.records import Due, Tried
from webhooks.store.endpoint_queues import Lanes

ATTEMPTS = Counter(
    "posthaste.webhook.attempts",
    "{attempt}",
    "Attempts, by what the delivery is after it and what went wrong.",
)
LAG = Histogram(
    "posthaste.webhook.lag",
    "s",
    "From an event's arrival to its acknowledgement, by whether the first attempt got it.",
    WAIT_SECONDS,
)
BACKLOG = Gauge("posthaste.webhook.backlog", "{delivery}", "Deliveries whose next attempt is due.")
OLDEST = Gauge("posthaste.webhook.backlog.age", "s", "How long the longest waiting of them has been due.")


def delivering(due: Due) -> AbstractContextManager[Any]:
    """The span of an attempt, from before the call to after its record."""
    named: dict[str, str | int] = {"delivery_id": due.id, "event": due.event, "attempt": due.attempts + 1}
    return tracing.working("deliver webhook", due.traceparent, "webhooks", due.account_id, **named)


def note_attempt(due: Due, tried: Tried, state: str, taken_up_seconds: float) -> None:
    """`state` of the delivery afterwards; `taken_up_seconds`: since it was loaded."""
    ATTEMPTS.add(1, {"state": state, "error": tried.error or "none"})
    if state == "delivered":
        first = "first" if due.attempts == 0 else "later"
        LAG.record(due.age_seconds + taken_up_seconds, {"attempt": first})


def watch_backlog(database: Database) -> None:
    def look() -> tuple[int, float]:
        with database.reading() as connection:
            return Lanes(connection).backlog()

    def count() -> Iterable[Reading]:
        return [(look()[0], {})]

    def age() -> Iterable[Reading]:
        return [(look()[1], {})]

    BACKLOG.watch(count)
    OLDEST.watch(age)
