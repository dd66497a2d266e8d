"""Gauges that every process with a database reports: its connections, workers, outbox and backlog."""

from collections.abc import Callable, Iterable

from sqlalchemy import func, select
from sqlalchemy.pool import QueuePool

from chassis.db.database import Database
from chassis.db.schema import outbox
from chassis.telemetry import metrics
from chassis.telemetry.metrics import Attributes, Gauge, Reading


def watch_connections(database: Database, service: str) -> None:
    """Reports how many connections of the database pool are in use, and the size of the pool."""
    pool = database.engine.pool
    assert isinstance(pool, QueuePool)

    def used() -> Iterable[Reading]:
        named = {"posthaste.service": service}
        out = pool.checkedout()
        return [(out, {**named, "state": "used"}), (max(pool.checkedin(), 0), {**named, "state": "idle"})]

    metrics.CONNECTIONS.watch(used)
    metrics.CONNECTIONS_MAX.watch(lambda: [(pool.size(), {"posthaste.service": service})])


def watch_outbox(database: Database, service: str) -> None:
    """Reports the number and age of unsent events. Every replica reports the same, because they share the outbox."""

    def look() -> tuple[int, float]:
        waited = func.extract("epoch", func.clock_timestamp() - func.min(outbox.c.created_at))
        with database.reading() as connection:
            count, age = connection.execute(select(func.count(), waited).select_from(outbox)).one()
        return count, float(age or 0.0)

    watch_backlog(metrics.OUTBOX_WAITING, metrics.OUTBOX_AGE, look, {"posthaste.service": service})


def watch_backlog(
    count: Gauge, age: Gauge, look: Callable[[], tuple[int, float]], labels: Attributes | None = None
) -> None:
    """Reports how many rows wait, and for how many seconds the oldest has waited. `look` returns both."""
    count.watch(lambda: [(look()[0], labels or {})])
    age.watch(lambda: [(look()[1], labels or {})])


def watch_pool(name: str, service: str, used: Callable[[], int], size: Callable[[], int]) -> None:
    """Reports how many tasks of a worker pool are running, and the size of the pool."""
    named = {"posthaste.service": service, "pool": name}
    metrics.POOL_USED.watch(lambda: [(used(), named)])
    metrics.POOL_SIZE.watch(lambda: [(size(), named)])
