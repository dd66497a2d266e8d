"""The use cases of the service webhooks, run in this process on one database. In both sets ten endpoints have a due
delivery, and a quarter of the endpoints fail all the time and wait for their next attempt.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import cast

from bench.scale.comparing import Operation
from bench.scale.copying import ago, copying, id_of, line, spread, stamp
from bench.scale.server import Opened
from bench.scale.sizes import Sizes
from chassis.db.database import Database
from chassis.ids import new_id
from chassis.vault import Vault
from contracts import webhooks as api
from contracts.caller import Caller
from contracts.events import Event
from contracts.quota import QuotaApi
from webhooks import maintenance
from webhooks.config import Settings
from webhooks.context import AppContext
from webhooks.events import on_events
from webhooks.management import deliveries, subscriptions
from webhooks.store.endpoint_queues import EndpointQueues

TABLES = ("accounts", "subscriptions", "secrets", "lanes", "events", "deliveries", "attempts", "asks")
_SUBSCRIPTION = ("id", "account_id", "name", "url", "events", "brand_ids", "created_at")
_DELIVERY = (
    "subscription_id", "id", "event_id", "event", "state", "due_at", "attempts", "failures", "created_at",
)  # fmt: skip
_EVENT = "post.published"
#: Number of subscriptions of an account, and thus of deliveries of an event.
_EACH = 2
#: Number of endpoints with due deliveries, the same in both sets.
_DUE = 10
#: Batch size of the service's worker loop.
_READY_AT_ONCE = 5_000


class Webhooks(Opened):
    """webhooks' database of one set, and the service's use cases on it."""

    def __init__(self, run: Path, each: str, sizes: Sizes) -> None:
        super().__init__(run, "webhooks", each)
        self.sizes = sizes
        settings = Settings.from_env()
        self.app = AppContext(self.database, settings, Vault(settings.secret_keys), cast(QuotaApi, None))

    def close(self) -> None:
        self.app.dispatcher.close()
        super().close()

    def seed(self) -> None:
        now, sizes = datetime.now(UTC), self.sizes
        made_at, secret = stamp(ago(now, days=100)), self.app.vault.encrypt("whsec_secret")
        endpoints = range(sizes.endpoints)
        with copying(self.admin_url, TABLES) as copier:
            accounts = range(0, sizes.endpoints, _EACH)
            copier.fill("accounts", ("id", "tier"), (line(_account(n), "elite") for n in accounts))
            rows = (
                line(
                    _endpoint(n),
                    _account(n),
                    "Shop",
                    "https://shop.test/hook",
                    f"{{{_EVENT}}}",
                    "{}",
                    made_at,
                )
                for n in endpoints
            )
            copier.fill("subscriptions", _SUBSCRIPTION, rows)
            rows = (line(id_of("sec", n), _endpoint(n), secret, made_at) for n in endpoints)
            copier.fill("secrets", ("id", "subscription_id", "secret", "created_at"), rows)
            rows = (line(_endpoint(n), self._is_dead(n) * 5) for n in endpoints)
            copier.fill("lanes", ("subscription_id", "consecutive_failures"), rows)
            columns = ("id", "event", "body", "received_at")
            copier.fill("events", columns, self._events(now))
            copier.fill("deliveries", _DELIVERY, self._deliveries(now))
            copier.execute(
                "INSERT INTO attempts (delivery_id, number, at, duration_ms, status_code)"
                " SELECT id, 1, created_at, 20, CASE state WHEN 'pending' THEN 500 ELSE 200 END FROM deliveries"
            )

    def _is_dead(self, endpoint: int) -> bool:
        """Whether an endpoint fails all the time: one in four does, and none of them has a due delivery."""
        return endpoint % (self.sizes.endpoints // self.sizes.dead_endpoints) == 1

    def _events(self, now: datetime) -> Iterator[str]:
        body = "\\\\x" + b'{"id":"evt","event":"post.published","data":{"text":"bread"}}'.hex() * 8
        for n, at in enumerate(spread(self.sizes.deliveries // _EACH, ago(now, days=29), now)):
            yield line(id_of("evt", n), _EVENT, body, stamp(at))

    def _deliveries(self, now: datetime) -> Iterator[str]:
        """Yields rows of deliveries in COPY's text format. All deliveries of a failing endpoint are pending, and the
        newest delivery of an endpoint with a due one; the others are delivered.
        """
        later = stamp(now + timedelta(hours=2))
        count, endpoints = self.sizes.deliveries, self.sizes.endpoints
        first_due = count - endpoints
        for n, at in enumerate(spread(count, ago(now, days=29), now)):
            endpoint = n % endpoints
            state, due_at = "delivered", stamp(at)
            if self._is_dead(endpoint):
                state, due_at = "pending", later
            elif n >= first_due and endpoint % (endpoints // _DUE) == 0:
                state = "pending"
            failures = int(state == "pending")
            yield line(
                _endpoint(endpoint), id_of("dlv", n, at), id_of("evt", n // _EACH), _EVENT, state, due_at, 1,
                failures, stamp(at),
            )  # fmt: skip


def _endpoint(number: int) -> str:
    return id_of("whk", number)


def _account(endpoint: int) -> str:
    return id_of("usr", endpoint // _EACH)


def _caller(endpoint: int) -> Caller:
    account = _account(endpoint)
    return Caller(account_id=account, user_id=account, tier="elite", operation_id=new_id("op"))


def operations() -> list[Operation[Webhooks]]:
    return [
        Operation(f"webhooks' claim, {_DUE} endpoints with something due", _look),
        Operation("an event arrives for two endpoints", _arrive),
        Operation("GET /webhooks/ID/deliveries", _list_deliveries),
        Operation("GET /webhooks", _list_subscriptions),
        Operation("webhooks' clean-up with nothing to do", _chores),
    ]


def _look(world: Webhooks, number: int) -> object:
    with world.database.reading() as connection:
        EndpointQueues(connection).make_ready(_READY_AT_ONCE)
        found = EndpointQueues(connection).look({})
    assert len(found) >= _DUE
    return found


def _arrive(world: Webhooks, number: int) -> None:
    """Stores an event, and with it deliveries to two endpoints. Each run uses another account."""
    account = _account((3 + _EACH * number) % world.sizes.endpoints)
    event = Event(
        id=new_id("evt"),
        event=_EVENT,
        created_at=datetime.now(UTC),
        account_id=account,
        brand_id="brd_1",
        data={"userId": account},
    )
    _commit(world.database, event)


def _commit(database: Database, event: Event) -> None:
    with database.transaction() as connection:
        on_events(connection, [event])


def _list_deliveries(world: Webhooks, number: int) -> object:
    request = api.ListDeliveries(id=_endpoint(2), limit=25)
    return deliveries.show_list(world.app, _caller(2), request)


def _list_subscriptions(world: Webhooks, number: int) -> object:
    return subscriptions.show_list(world.app, _caller(2), api.ListSubscriptions(limit=25))


def _chores(world: Webhooks, number: int) -> object:
    maintenance.end_deliveries(world.app)
    return maintenance.remove_old(world.app)
