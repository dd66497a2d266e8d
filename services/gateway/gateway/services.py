"""What every request of a process shares: the services, caches and chores, wired in one place."""

from contextlib import suppress
from functools import cache
from typing import Any

import msgspec
import structlog

from chassis.bus import rpc
from chassis.db.clock import refuse_shifted
from chassis.db.database import Database
from contracts.accounts import AccountsApi, Authenticate, Authenticated, RecordUse
from contracts.ai import AiApi
from contracts.caller import Caller
from contracts.errors import ApiError
from contracts.events import CallerChanged, Event
from contracts.media import LocatedFile, LocateFile, MediaApi
from contracts.publishing import PublishingApi
from contracts.quota import QuotaApi
from contracts.webhooks import WebhooksApi
from gateway.admission.batcher import AdmissionBatcher
from gateway.admission.refunds import LimitedTokens, Refunds
from gateway.auth.caller_cache import CallerCache
from gateway.auth.token_usage import INTERVAL_SECONDS, TokenUsage
from gateway.clock import GatewayClock
from gateway.config import Config
from gateway.health import Readiness
from gateway.http.slow_clients import SENDING
from gateway.http.streams import STREAMS
from gateway.idempotency.keys import IdempotencyKeys
from gateway.openapi.description import describe
from gateway.periodic import PeriodicTask
from gateway.routes import ENDPOINTS
from gateway.routes.download import DOWNLOAD_WAIT_SECONDS, RECEIVING, FileLocations
from gateway.routes.upload import UPLOAD_WAIT_SECONDS, SpoolBudget
from gateway.transfers.fair_limiter import FairLimiter
from gateway.transfers.storage import Storage

log = structlog.get_logger()

#: The gateway itself, where no token is known yet or no request is behind the call.
GATEWAY = Caller(account_id="", user_id="gateway")
#: Answers to keyed requests gather so long before they are stored together. Our choice.
_GATHER_SECONDS = 0.02


@cache
def _description(key_required: bool) -> dict[str, Any]:
    """What the API is, made once: a tenth of a second's work."""
    return describe(ENDPOINTS, key_required=key_required)


class Services:
    """One per process. `bus` is given in tests."""

    def __init__(self, config: Config, bus: Any = None, database: Database | None = None) -> None:
        self.config = config
        self.bus = bus if bus is not None else rpc.connect(config.amqp_url, config.signatures)
        self.database = database or Database(config.database_url, pool_size=config.database_pool_size)
        self.accounts: AccountsApi = self.bus.service("accounts")
        self.quota: QuotaApi = self.bus.service("quota")
        self.publishing: PublishingApi = self.bus.service("publishing")
        self.media: MediaApi = self.bus.service("media", MediaApi)
        self.ai: AiApi = self.bus.service("ai", AiApi)
        self.webhooks: WebhooksApi = self.bus.service("webhooks", WebhooksApi)
        self.storage = Storage(config.uploads_at_once + config.downloads_at_once)
        self.upload_slots = FairLimiter(
            "uploads", config.uploads_at_once, wait_seconds=UPLOAD_WAIT_SECONDS, greed=2
        )
        self.spool_budget = SpoolBudget(config.upload_spool_bytes)
        self.download_slots = FairLimiter(
            "downloads", config.downloads_at_once, wait_seconds=DOWNLOAD_WAIT_SECONDS, greed=1
        )
        self.locations = FileLocations(self._locate)
        self.clock = GatewayClock(self.database)
        self.callers = CallerCache(self._authenticate, config.caller_cache_seconds)
        self.keys = IdempotencyKeys(self.database, required=config.idempotency_key_required)
        self.door = AdmissionBatcher(self.quota.admit_all)
        self.limited_tokens = LimitedTokens(self.clock.now)
        self.refunds = Refunds(self.quota)
        self.token_usage = TokenUsage(self._record_use)
        self.description = _description(config.idempotency_key_required)
        self.readiness = Readiness(self.bus, config.services)
        self.bus.subscribe(self._on_event, self.callers.clear)
        self._chores: list[PeriodicTask] = []

    def start_chores(self) -> None:
        """Intervals are our choice."""
        self._measure_clock()
        self._chores = [
            PeriodicTask(1.0, self._measure_clock).start(),
            PeriodicTask(INTERVAL_SECONDS, self.token_usage.flush).start(),
            PeriodicTask(60.0, self.keys.forget_old).start(),
            PeriodicTask(0.5, self.keys.give_up_waiting).start(),
            PeriodicTask(_GATHER_SECONDS, self._store_answers).start(),
            PeriodicTask(1.0, self._cut_late).start(),
        ]

    def close(self) -> None:
        """Sends what waits, then lets go of bus and database."""
        for chore in self._chores:
            chore.stop()
        self.token_usage.flush()
        with suppress(ApiError):  # then repetitions take the keys over, and find the operations done
            self.keys.store_answers()
        self.bus.close()
        self.storage.close()
        self.database.close()

    def _store_answers(self) -> None:
        self.keys.store_answers(wait_seconds=1.0)

    def _cut_late(self) -> None:
        for moving in (SENDING, STREAMS, RECEIVING):
            moving.cut_late(self.config.read_seconds)

    def _locate(self, request: LocateFile) -> LocatedFile:
        return self.media.locate_file(GATEWAY, request)

    def _authenticate(self, token_sha256: str) -> Authenticated:
        return self.accounts.authenticate(GATEWAY, Authenticate(token_sha256=token_sha256))

    def _record_use(self, batch: RecordUse) -> None:
        self.accounts.record_use(GATEWAY, batch)

    def _on_event(self, event: Event) -> None:
        if event.event == "caller.changed":
            self.callers.drop(msgspec.convert(event.data, CallerChanged))

    def _measure_clock(self) -> None:
        try:
            self.clock.measure()
        except ApiError:
            return  # the database is away: the last difference stays

    def check_clock(self) -> None:
        """Raises ConfigError when the clock is shifted and must not be; skipped with the database away."""
        try:
            with self.database.reading() as connection:
                refuse_shifted(connection, allowed=self.config.clock_shift_allowed)
        except ApiError:
            log.warning("database_away_at_start")
