"""The objects that the use cases of sending posts share within one process, in addition to those of `AppContext`."""

from collections.abc import Mapping
from contextlib import suppress

from chassis.bus.rpc import Bus
from chassis.db.database import Database
from chassis.runtime.gauges import watch_pool
from chassis.runtime.locked_cache import locked_cache
from chassis.runtime.pool import Pool
from contracts.errors import ApiError
from contracts.media import MediaApi
from publishing.config import Settings
from publishing.context import AppContext, ContendedBrands
from publishing.platforms.base import Connector
from publishing.sending import metrics
from publishing.sending.outcome_writer import OutcomeWriter
from publishing.store.standbys import warn_of_asynchronous


class SendingContext(AppContext):
    """The context of a process, with the objects that all use cases of sending posts share."""

    def __init__(
        self,
        database: Database,
        settings: Settings,
        media: MediaApi,
        connectors: Mapping[str, Connector] | None = None,
    ) -> None:
        super().__init__(database, settings, media, connectors)
        self.outcomes = OutcomeWriter(database, settings.lease_seconds)
        self.contended = ContendedBrands()


@locked_cache
def context_of(database: Database, bus: Bus) -> SendingContext:
    """Creates the context of this process, with its database and with settings from the environment. Starts the thread
    that renews the worker's lease.

    Raises ConfigError if a setting is missing or malformed.
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
