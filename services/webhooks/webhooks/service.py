"""The webhooks service on the bus: calls, events and worker loops. No rules."""

from typing import Any, get_args

from nameko.extensions import DependencyProvider

from chassis.bus.rpc import Bus
from chassis.db.database import Database
from chassis.db.operations import forget_old
from chassis.service import BusProvider, DatabaseProvider, loop, on_event, on_events, rpc
from chassis.vault import Vault
from contracts import webhooks as contract
from contracts.caller import Caller
from contracts.events import Event
from contracts.keys import KeysRotated, RotateKeys
from webhooks import maintenance
from webhooks.config import Settings
from webhooks.context import AppContext
from webhooks.dispatch.dispatcher import DELIVERIES_DUE, ENDPOINTS_DISABLED
from webhooks.events import intake, lost_access
from webhooks.management import deliveries, key_rotation, subscriptions
from webhooks.store import Connection

#: Decrypted signing secrets that are kept in memory. Our choice.
_SECRETS_CACHED = 4_096


class AppProvider(DependencyProvider):
    """Reads the settings at the start, and waits for attempts in flight at the end."""

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

    @rpc
    def create_subscription(
        self, caller: Caller, request: contract.CreateSubscription
    ) -> contract.CreatedSubscription:
        return subscriptions.create(self.app, caller, request)

    @rpc
    def list_subscriptions(
        self, caller: Caller, request: contract.ListSubscriptions
    ) -> contract.SubscriptionList:
        return subscriptions.show_list(self.app, caller, request)

    @rpc
    def get_subscription(self, caller: Caller, request: contract.SubscriptionId) -> contract.Subscription:
        return subscriptions.show(self.app, caller, request)

    @rpc
    def edit_subscription(self, caller: Caller, request: contract.EditSubscription) -> contract.Subscription:
        return subscriptions.edit(self.app, caller, request)

    @rpc
    def delete_subscription(
        self, caller: Caller, request: contract.SubscriptionId
    ) -> contract.SubscriptionDeleted:
        return subscriptions.delete(self.app, caller, request)

    @rpc
    def enable_subscription(self, caller: Caller, request: contract.SubscriptionId) -> contract.Subscription:
        return subscriptions.enable(self.app, caller, request)

    @rpc
    def rotate_secret(self, caller: Caller, request: contract.SubscriptionId) -> contract.RotatedSecret:
        return subscriptions.rotate_secret(self.app, caller, request)

    @rpc
    def send_test(self, caller: Caller, request: contract.SubscriptionId) -> contract.Delivery:
        return deliveries.send_test(self.app, caller, request)

    @rpc
    def list_deliveries(self, caller: Caller, request: contract.ListDeliveries) -> contract.DeliveryList:
        return deliveries.show_list(self.app, caller, request)

    @rpc
    def replay_delivery(self, caller: Caller, request: contract.ReplayDelivery) -> contract.Delivery:
        return deliveries.replay(self.app, caller, request)

    @rpc
    def rotate_keys(self, caller: Caller, request: RotateKeys) -> KeysRotated:
        return key_rotation.rotate_keys(self.app, caller, request)

    @on_events(*get_args(contract.EventName))
    def on_events(self, connection: Connection, events: list[Event]) -> None:
        intake.on_events(connection, events)

    @on_event("account.changed")
    def on_account_changed(self, connection: Connection, event: Event) -> None:
        intake.on_account_changed(connection, event)

    @on_event("access.revoked")
    def on_access_revoked(self, connection: Connection, event: Event) -> None:
        lost_access.on_access_revoked(connection, event)

    @loop(interval_seconds=0.2, woken_by=DELIVERIES_DUE)
    def deliver_events(self) -> int:
        return self.app.dispatcher.tick()

    @loop(interval_seconds=2.0)
    def renew_queues(self) -> int:
        self.app.dispatcher.renew()
        return 0

    @loop(interval_seconds=5.0, woken_by=ENDPOINTS_DISABLED)
    def end_deliveries(self) -> int:
        return maintenance.end_deliveries(self.app)

    @loop(interval_seconds=60.0)
    def forget_operations(self) -> int:
        return forget_old(self.database)

    @loop(interval_seconds=30.0)
    def remove_old(self) -> int:
        return maintenance.remove_old(self.app)
