"""The parts of the webhooks service over a real database, with a fake quota service."""

import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from cryptography.fernet import Fernet
from sqlalchemy import text

from chassis.db import clock
from chassis.db.database import Database
from chassis.ids import new_id
from chassis.vault import Vault
from contracts import webhooks as api
from contracts.caller import Caller
from contracts.errors import SERVER_ERROR, SERVICE_UNAVAILABLE, ApiError
from contracts.events import Event
from contracts.quota import ChargedUnits, ChargeUnits
from webhooks import maintenance
from webhooks.config import Settings
from webhooks.context import AppContext
from webhooks.events import on_events
from webhooks.management import deliveries, subscriptions
from webhooks.security import parse_private_receivers

ACCOUNT = "usr_a"
KEY = Fernet.generate_key().decode()
PATIENCE_SECONDS = 30.0


class FakeQuota:
    """Counts each operation once, up to `limit`. While `is_away` it raises SERVICE_UNAVAILABLE."""

    def __init__(self) -> None:
        self.units: dict[str, str] = {}
        self.limit = 10_000
        self.is_away = False
        self.stumbles_over: set[str] = set()
        #: Answers while it is set.
        self.may_answer = threading.Event()
        self.may_answer.set()

    def charge_units(self, _caller: Caller, request: ChargeUnits, *, timeout_seconds: float) -> ChargedUnits:
        self.may_answer.wait(PATIENCE_SECONDS)
        if self.is_away:
            raise ApiError(SERVICE_UNAVAILABLE)
        if any(unit.account_id in self.stumbles_over for unit in request.units):
            raise ApiError(SERVER_ERROR)
        for unit in request.units:
            if len(self.units) < self.limit:
                self.units.setdefault(unit.operation_id, unit.tier)
        return ChargedUnits(allowed=tuple(unit.operation_id in self.units for unit in request.units))


class Desk:
    """Calls the service as an account's owner, and runs the dispatcher."""

    def __init__(self, database: Database, settings: Settings) -> None:
        self.database = database
        self.quota = FakeQuota()
        self.app = AppContext(database, settings, Vault([KEY]), self.quota)

    def another(self) -> "Desk":
        """Returns a second process on the same database."""
        return Desk(self.database, self.app.settings)

    def caller(self, **fields: Any) -> Caller:
        return Caller(
            **(
                {"account_id": ACCOUNT, "user_id": ACCOUNT, "tier": "pro", "operation_id": new_id("op")}
                | fields
            )
        )

    def subscribe(self, url: str, caller: Caller | None = None, **fields: Any) -> api.CreatedSubscription:
        request = api.CreateSubscription(
            **({"name": "Shop", "url": url, "events": ("post.failed",)} | fields)
        )
        return subscriptions.create(self.app, caller or self.caller(), request)

    def arrive(
        self,
        count: int = 1,
        *,
        event: str = "post.failed",
        account: str = ACCOUNT,
        brand: str | None = "brd_1",
        made_within: tuple[str, ...] | None = None,
        audience: str = "",
        post_id: str | None = None,
    ) -> list[Event]:
        """Receives `count` events from the bus, in one transaction."""
        about = {"post": {"id": post_id}} if post_id else {}
        events = [
            Event(
                id=new_id("evt"), event=event, created_at=datetime.now(UTC), account_id=account, brand_id=brand,
                data={"userId": account, "number": number, **about}, made_within=made_within, audience=audience,
            )
            for number in range(count)
        ]  # fmt: skip
        with self.database.transaction() as connection:
            on_events(connection, events)
        return events

    def work(self, until: Callable[[], Any], what: str = "what was awaited") -> None:
        """Runs the loops until the condition holds."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not until():
            assert time.monotonic() < deadline, f"{what} did not happen"
            self.app.dispatcher.tick()
            maintenance.end_deliveries(self.app)

    def settle(self) -> None:
        """Runs the loops until no delivery is due and none is being sent."""
        self.work(lambda: not self.busy(), "quiet")

    def busy(self) -> bool:
        due = "SELECT 1 FROM deliveries WHERE state = 'pending' AND due_at <= clock_now() LIMIT 1"
        return bool(self.query(due)) or not self.app.dispatcher.is_quiet

    def log(self, subscription_id: str, **fields: Any) -> tuple[api.Delivery, ...]:
        request = api.ListDeliveries(**({"id": subscription_id, "limit": 100} | fields))
        return deliveries.show_list(self.app, self.caller(), request).deliveries

    def show(self, subscription_id: str) -> api.Subscription:
        return subscriptions.show(self.app, self.caller(), api.SubscriptionId(id=subscription_id))

    def shift(self, seconds: float) -> None:
        with self.database.transaction() as connection:
            clock.set_shift(connection, clock.shift_seconds(connection) + seconds)

    def is_lock_awaited(self) -> bool:
        """Tells whether a statement waits for a lock."""
        waiting = "datname = current_database() AND wait_event_type = 'Lock'"
        return bool(self.query(f"SELECT 1 FROM pg_stat_activity WHERE {waiting}"))

    def query(self, sql: str, **values: Any) -> list[Any]:
        with self.database.reading() as connection:
            return list(connection.execute(text(sql), values))

    def execute(self, sql: str, **values: Any) -> None:
        with self.database.transaction() as connection:
            connection.execute(text(sql), values)


@pytest.fixture
def settings() -> Settings:
    return Settings(
        secret_keys=(KEY,),
        private_receivers=parse_private_receivers(["*=127.0.0.1/32:1-65535"]),
        retry_seconds=(30, 120, 600, 1_800, 7_200),
        timeout_seconds=60,
        attempts_at_once=512,
        taken_ahead=96,
        lease_seconds=300,  # longer than any test: `work` does not renew leases
        log_kept_days=30,
    )


@pytest.fixture
def desk(open_database: Callable[[str], Database], settings: Settings) -> Iterator[Desk]:
    made = Desk(open_database("webhooks"), settings)
    yield made
    made.app.dispatcher.close()
