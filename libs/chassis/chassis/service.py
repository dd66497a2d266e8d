"""Names that every `service.py` imports: entrypoints, database, bus, and functions that run work outside the event
loop.
"""

from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar

import eventlet
import structlog
from eventlet import tpool
from eventlet.greenpool import GreenPool
from nameko.extensions import DependencyProvider

from chassis.bus import inbox, outbox
from chassis.bus.consumer import on_event, on_events
from chassis.bus.link import NotConfirmed
from chassis.bus.rpc import Bus, connect
from chassis.bus.server import RpcServer, call, rpc
from chassis.bus.service_link import ServiceLink
from chassis.db.database import Database
from chassis.db.operations import forget_old
from chassis.runtime import gauges
from chassis.runtime.loops import end_all, finish, loop, repeat
from chassis.signatures import Signatures
from contracts.errors import ApiError

__all__ = [
    "BusProvider",
    "DatabaseProvider",
    "call",
    "finish",
    "forget_old_operations",
    "loop",
    "offload",
    "on_event",
    "on_events",
    "repeat",
    "rpc",
    "spawn_all",
]

log = structlog.get_logger()
P = ParamSpec("P")
T = TypeVar("T")

#: Commits wake the relay. The interval only matters for events of a process that died: they are late by this much.
_RELAY_INTERVAL_SECONDS = 1.0
_SWEEP_INTERVAL_SECONDS = 3600.0


class DatabaseProvider(DependencyProvider):
    """Provides `self.database`, and runs the outbox relay and the clean-up of the inbox."""

    service_link = ServiceLink()
    rpc_server = RpcServer()

    def __init__(self) -> None:
        self.database: Database | None = None
        self._staged = eventlet.semaphore.Semaphore(0)

    def setup(self) -> None:
        self.database = Database(
            self.container.config["DATABASE_URL"], pool_size=self.container.config["DATABASE_POOL_SIZE"]
        )
        self.database.on_commit(outbox.STAGED, self._staged.release)
        self.rpc_server.ping = self.database.ping
        container, name = self.container, self.container.service_name
        gauges.watch_connections(self.database, name)
        gauges.watch_outbox(self.database, name)
        gauges.watch_pool(
            "workers", name, lambda: len(container._worker_threads), lambda: container.max_workers
        )

    def start(self) -> None:
        self.service_link.start()
        self.container.spawn_managed_thread(self._relay, identifier="outbox-relay")
        self.container.spawn_managed_thread(self._sweep, identifier="inbox-sweep")

    def get_dependency(self, _context: Any) -> Database:
        assert self.database is not None
        return self.database

    def stop(self) -> None:
        """Ends the remaining worker loops after the last calls, sends a batch of the staged events, and closes the
        database.

        Events that were not sent stay in the outbox. Another process of the service sends them, or this one after its
        next start.
        """
        end_all(self.container)
        self._relay_once()
        assert self.database is not None
        self.database.close()

    @property
    def signatures(self) -> Signatures:
        """The keys that sign the events of the outbox."""
        signatures: Signatures = self.container.config["SIGNATURES"]
        return signatures

    def _relay(self) -> None:
        while True:
            if self._relay_once() < 1:
                self._staged.acquire(timeout=_RELAY_INTERVAL_SECONDS)
                while self._staged.acquire(blocking=False):
                    """The next round also sends events that were committed meanwhile."""

    def _relay_once(self) -> int:
        assert self.database is not None
        try:
            return outbox.relay_once(self.database, self.service_link.link, self.signatures)
        except (NotConfirmed, ApiError) as error:
            log.warning("outbox_waits", reason=str(error))
            return 0
        except Exception:
            log.exception("outbox_failed")
            return 0

    def _sweep(self) -> None:
        assert self.database is not None
        while True:
            eventlet.sleep(_SWEEP_INTERVAL_SECONDS)
            try:
                inbox.sweep(self.database)
            except Exception:
                log.exception("inbox_sweep_failed")


class BusProvider(DependencyProvider):
    """Provides `self.bus`, the client of other services, on a separate connection.

    The graph of calls (docs/architecture.md) must have no cycles: in a cycle, workers would wait for each other.
    """

    def __init__(self) -> None:
        self.bus: Bus | None = None

    def start(self) -> None:
        config, name = self.container.config, self.container.service_name
        self.bus = connect(config["AMQP_URL"], config["SIGNATURES"], f"{name}-calls")

    def get_dependency(self, _context: Any) -> Bus:
        assert self.bus is not None
        return self.bus

    def stop(self) -> None:
        if self.bus is not None:
            self.bus.close()


@loop(interval_seconds=60.0)
def forget_old_operations(self: Any) -> int:
    """The worker loop of a service that stores operations: deletes old operations. Returns how many it deleted."""
    return forget_old(self.database)


def spawn_all(functions: Sequence[Callable[[], T]], size: int = 32) -> list[T | Exception]:
    """Runs functions in green threads, at most `size` at once. Returns each result or exception, in order."""

    def run(function: Callable[[], T]) -> T | Exception:
        try:
            return function()
        except Exception as error:  # noqa: BLE001 - handed to the caller
            return error

    return list(GreenPool(size).imap(run, functions))


def offload(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Runs CPU-heavy or blocking C code in a real thread, so that the event loop is not blocked."""
    if not eventlet.patcher.is_monkey_patched("thread"):
        return function(*args, **kwargs)
    result: T = tpool.execute(function, *args, **kwargs)
    return result
