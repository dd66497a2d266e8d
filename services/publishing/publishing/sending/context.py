"""What all sending of posts shares within one process, besides `AppContext`; and the function that creates it."""

import time
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from typing import TypeVar

from chassis.bus.rpc import Bus
from chassis.db.database import Database
from chassis.runtime.gauges import watch_pool
from chassis.runtime.pool import Pool
from contracts.errors import ApiError
from contracts.media import MediaApi
from publishing.config import Settings
from publishing.context import AppContext
from publishing.platforms.registry import Registry
from publishing.sending import metrics
from publishing.sending.outcome_writer import OutcomeWriter
from publishing.store.standbys import warn_of_asynchronous

T = TypeVar("T")


class InTurn:
    """Lets only one task at a time work on a name (of a brand), and the name that has waited longest comes first."""

    def __init__(self) -> None:
        self._busy: set[str] = set()
        self._begun_at: dict[str, float] = {}

    def in_turn(self, waiting: Mapping[str, T]) -> list[tuple[str, T]]:
        """Returns the waiting names with their values: first the one on which work began longest ago. Forgets all other
        names."""
        self._begun_at = {name: at for name, at in self._begun_at.items() if name in waiting}
        return sorted(waiting.items(), key=lambda item: self._begun_at.get(item[0], 0.0))

    def begin(self, name: str) -> bool:
        """Reserves the name for a task. Returns False when another task works on it already."""
        if name in self._busy:
            return False
        self._busy.add(name)
        self._begun_at[name] = time.monotonic()
        return True

    def end(self, name: str) -> None:
        self._busy.discard(name)


class SendingContext(AppContext):
    """What one process shares between the use cases that send posts."""

    def __init__(
        self, database: Database, settings: Settings, media: MediaApi, registry: Registry | None = None
    ) -> None:
        super().__init__(database, settings, media, registry)
        self.outcomes = OutcomeWriter(database, settings.lease_seconds)
        #: Brands with due posts whose lock another transaction holds.
        self.contended = InTurn()


@cache
def context_of(database: Database, bus: Bus) -> SendingContext:
    """Creates what this process shares, over its database, with the settings of its environment. Keeps the worker's
    lease.

    Raises ConfigError.
    """
    app = SendingContext(database, Settings.from_env(), bus.service("media"))
    app.lease.keep()
    metrics.watch_backlog(database)
    with suppress(ApiError), database.reading() as connection:
        warn_of_asynchronous(connection)
    # "lanes" is a label of a metric that dashboards read.
    for name, pool in (("lanes", app.page_queues), ("side", app.side), ("polling", app.polling)):
        _watch(name, pool)
    return app


def _watch(name: str, pool: Pool) -> None:
    watch_pool(name, "publishing", lambda: pool.size - pool.free, lambda: pool.size)
