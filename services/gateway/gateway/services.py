"""The clients, caches, limits and periodic tasks that all requests of a gateway process share."""

from contextlib import suppress
from fractions import Fraction
from functools import partial
from typing import Any

import msgspec
import structlog

from chassis.bus import rpc
from chassis.db.clock import LocalClock, refuse_shifted
from chassis.db.database import Database
from chassis.runtime.limiter import Limiter
from contracts.caller import Caller
from contracts.errors import SERVICE_UNAVAILABLE, ApiError
from contracts.events import CallerChanged, Event
from gateway.admission.batcher import AdmissionBatcher
from gateway.admission.limited_tokens import LimitedTokens
from gateway.admission.message_limit import MessageLimit
from gateway.admission.refunds import Refunds
from gateway.callers import INTERVAL_SECONDS, CallerCache, TokenUsage
from gateway.config import Config
from gateway.health import Readiness
from gateway.http.body import RECEIVING, SENDING
from gateway.idempotency.keys import IdempotencyKeys
from gateway.periodic import PeriodicTask
from gateway.request_log.recorder import WRITE_SECONDS, RequestLog
from gateway.transfers.file_locations import FileLocations
from gateway.transfers.spool_budget import SpoolBudget
from gateway.transfers.storage import Storage

log = structlog.get_logger()

#: The gateway itself, for calls without a token or without a request behind them.
GATEWAY = Caller(account_id="", user_id="gateway")
#: How long answers to keyed requests gather before they are stored together: with 20 ms, PostgreSQL spent half as much
#: again on keys. A repetition within this time waits for it.
_GATHER_SECONDS = 0.1
#: How long an upload and a download wait for a slot. On a busy machine an upload holds its slot for a minute; a
#: download that waits can be repeated at no cost.
UPLOAD_WAIT_SECONDS, DOWNLOAD_WAIT_SECONDS = 60.0, 2.0
#: Transfers that may wait for each slot: more would wait in vain.
_WAITING_PER_SLOT = 4


class Services:
    """The clients of all services, and the caches, limits and periodic tasks of the gateway. One per process.

    Tests pass their own `bus`.
    """

    def __init__(self, config: Config, bus: rpc.Bus | None = None, database: Database | None = None) -> None:
        self.config = config
        self.bus = bus if bus is not None else rpc.connect(config.amqp_url, config.signatures)
        self.database = database or Database(config.database_url, pool_size=config.database_pool_size)
        self.accounts = self.bus.service("accounts")
        self.quota = self.bus.service("quota")
        self.publishing = self.bus.service("publishing")
        self.media = self.bus.service("media")
        self.ai = self.bus.service("ai")
        self.webhooks = self.bus.service("webhooks")
        self.storage = Storage(config.uploads_at_once + config.downloads_at_once)
        self.upload_slots = _limiter("uploads", config.uploads_at_once, UPLOAD_WAIT_SECONDS, Fraction(2, 3))
        self.download_slots = _limiter(
            "downloads", config.downloads_at_once, DOWNLOAD_WAIT_SECONDS, Fraction(1, 2)
        )
        self.spool_budget = SpoolBudget(config.upload_spool_bytes)
        self.locations = FileLocations(partial(self.media.locate_file, GATEWAY))
        self.clock = LocalClock(self.database)
        self.callers = CallerCache(partial(self.accounts.authenticate, GATEWAY), config.caller_cache_seconds)
        self.keys = IdempotencyKeys(self.database, required=config.idempotency_key_required)
        self.admissions = AdmissionBatcher(self.quota.admit_all)
        self.limited_tokens = LimitedTokens(self.clock.now)
        self.message_limit = MessageLimit(self.clock)
        self.refunds = Refunds(self.quota)
        self.token_usage = TokenUsage(partial(self.accounts.record_use, GATEWAY))
        self.request_log = RequestLog(self.database, keep_days=config.request_log_days)
        self.readiness = Readiness(self.bus, config.services)
        #: /openapi.json; set by `gateway.app`, which knows the endpoints.
        self.description: dict[str, Any] = {}
        self.bus.subscribe(self._on_event, self.callers.clear)
        self._tasks: list[PeriodicTask] = []

    def start_tasks(self) -> None:
        self._measure_clock()
        self._tasks = [
            PeriodicTask(1.0, self._measure_clock).start(),
            PeriodicTask(INTERVAL_SECONDS, self.token_usage.flush).start(),
            PeriodicTask(60.0, self.keys.forget_old).start(),
            PeriodicTask(WRITE_SECONDS, self.request_log.write).start(),
            PeriodicTask(60.0, self.request_log.forget_old).start(),
            PeriodicTask(0.5, self.keys.give_up_waiting).start(),
            PeriodicTask(_GATHER_SECONDS, self._store_answers).start(),
            PeriodicTask(1.0, self._cut_slow_clients).start(),
        ]

    def close(self) -> None:
        """Stops the periodic tasks, sends and stores what waits in memory, and closes bus, storage and database."""
        for task in self._tasks:
            task.stop()
        self.token_usage.flush()
        with suppress(ApiError):  # repetitions then take over the keys, and find the operations done
            self.keys.answers.write()
        with suppress(ApiError):
            self.request_log.write()
        self.bus.close()
        self.storage.close()
        self.database.close()

    def check_clock(self) -> None:
        """Raises ConfigError when the database's clock is shifted although the settings do not allow it.

        Does nothing while the database cannot be reached.
        """
        try:
            with self.database.reading() as connection:
                refuse_shifted(connection, allowed=self.config.clock_shift_allowed)
        except ApiError:
            log.warning("database_away_at_start")

    def _store_answers(self) -> None:
        self.keys.answers.write(wait_seconds=1.0)

    def _cut_slow_clients(self) -> None:
        for clients in (SENDING, RECEIVING):
            clients.cut_late(self.config.read_seconds)

    def _on_event(self, event: Event) -> None:
        if event.event == "caller.changed":
            self.callers.drop(msgspec.convert(event.data, CallerChanged))

    def _measure_clock(self) -> None:
        with suppress(ApiError):  # the database is away: the last difference stays in use
            self.clock.measure()


def _limiter(transfers: str, count: int, wait_seconds: float, max_share: Fraction) -> Limiter:
    retry = int(wait_seconds)
    message = f"Too many {transfers} are running; try again in {retry} s."
    return Limiter(
        count,
        wait_seconds=wait_seconds,
        max_share=max_share,
        waiting_per_slot=_WAITING_PER_SLOT,
        refusal=partial(ApiError, SERVICE_UNAVAILABLE, message, retry_after_seconds=retry),
    )
