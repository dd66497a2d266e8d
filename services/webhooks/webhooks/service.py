"""Connects the webhooks service to the bus: calls, events and worker loops. Contains no rules."""

from typing import Any, get_args

from nameko.extensions import DependencyProvider

from chassis.bus.rpc import Bus
from chassis.db.database import Database
from chassis.service import (
    BusProvider,
    DatabaseProvider,
    call,
    forget_old_operations,
    loop,
    on_event,
    on_events,
    repeat,
)
from chassis.vault import Vault
from contracts import webhooks as contract
from contracts.events import Event
from webhooks import events, maintenance
from webhooks.config import Settings
from webhooks.context import AppContext
from webhooks.dispatch.dispatcher import DELIVERIES_DUE, ENDPOINTS_DISABLED
from webhooks.management import deliveries, subscriptions
from webhooks.store import Connection

#: Decrypted signing secrets that are kept in memory, some hundred bytes each.
_SECRETS_CACHED = 4_096


class AppProvider(DependencyProvider):
    """Provides the service's context: reads the settings at the start, and waits for running attempts at the end."""

    def setup(self) -> None:
        self._settings = Settings.from_env()
        self._vault = Vault(self._settings.secret_keys, cached=_SECRETS_CACHED)
        self._app: AppContext | None = None

    def get_dependency(self, _context: Any) -> "AppProvider":
        return self

    def app(self, database: Database, bus: Bus) -> AppContext:
        if self._app is None:
            self._app = AppContext(database, self._settings, self._vault, bus.service("quota"))
        return self._app

    def stop(self) -> None:
        if self._app is not None:
            self._app.dispatcher.close()


class WebhooksService:
    name = "webhooks"
    api = contract.WebhooksApi
    database = DatabaseProvider()
    bus = BusProvider()
    provider = AppProvider()

    @property
    def app(self) -> AppContext:
        return self.provider.app(self.database, self.bus)

    create_subscription = call(subscriptions.create)
    list_subscriptions = call(subscriptions.show_list)
    get_subscription = call(subscriptions.show)
    edit_subscription = call(subscriptions.edit)
    delete_subscription = call(subscriptions.delete)
    enable_subscription = call(subscriptions.enable)
    rotate_secret = call(subscriptions.rotate_secret)
    send_test = call(deliveries.send_test)
    list_deliveries = call(deliveries.show_list)
    get_delivery = call(deliveries.show)
    find_deliveries = call(deliveries.find)
    replay_delivery = call(deliveries.replay)
    rotate_keys = call(subscriptions.rotate_keys)

    @on_events(*get_args(contract.EventName))
    def on_events(self, connection: Connection, found: list[Event]) -> None:
        events.on_events(connection, found)

    @on_event("account.changed")
    def on_account_changed(self, connection: Connection, event: Event) -> None:
        events.on_account_changed(connection, event)

    @on_event("access.revoked")
    def on_access_revoked(self, connection: Connection, event: Event) -> None:
        events.on_access_revoked(connection, event)

    @loop(interval_seconds=0.5, woken_by=DELIVERIES_DUE)
    def deliver_events(self) -> int:
        return self.app.dispatcher.tick()

    @loop(interval_seconds=2.0)
    def renew_queues(self) -> int:
        self.app.dispatcher.renew()
        return 0

    end_deliveries = repeat(maintenance.end_deliveries, 5.0, woken_by=ENDPOINTS_DISABLED)

    forget_operations = forget_old_operations

    remove_old = repeat(maintenance.remove_old, 30.0)
