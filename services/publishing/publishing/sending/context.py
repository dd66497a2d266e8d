"""What the sending of posts shares within a process, besides `AppContext`; and how a process makes it."""

from contextlib import suppress
from functools import cache

from chassis.bus.rpc import Bus
from chassis.db.database import Database
from chassis.runtime.gauges import watch_pool
from contracts.errors import ApiError
from contracts.media import MediaApi
from publishing.config import Settings
from publishing.context import AppContext
from publishing.platforms.registry import Registry
from publishing.sending import metrics
from publishing.sending.outcome_writer import OutcomeWriter
from publishing.store.standbys import warn_of_asynchronous
from publishing.task_pool import InTurn, Pool


class SendingContext(AppContext):
    """The context of use cases that send posts."""

    def __init__(
        self, database: Database, settings: Settings, media: MediaApi, registry: Registry | None = None
    ) -> None:
        super().__init__(database, settings, media, registry)
        self.outcomes = OutcomeWriter(database, settings.lease_seconds)
        #: Brands with due posts whose lock another transaction holds.
        self.contended = InTurn()


@cache
def context_of(database: Database, bus: Bus) -> SendingContext:
    """Makes the context of this process's database, with the settings of the environment. Raises ConfigError."""
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
