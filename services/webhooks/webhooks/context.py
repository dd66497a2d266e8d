"""What the use cases share, created once per process: settings, the vault, the dispatcher."""

from chassis.db.database import Database
from chassis.http.guarded_client import resolve
from chassis.http.resolver import Resolve
from chassis.runtime.gauges import watch_pool
from chassis.vault import Vault
from contracts.quota import QuotaApi
from webhooks import metrics
from webhooks.config import Settings
from webhooks.dispatch.dispatcher import DELIVERIES_DUE, DeliveryDispatcher
from webhooks.events import ARRIVED


class AppContext:
    """The objects that all parts of one webhooks process share: database, settings, vault and dispatcher."""

    def __init__(
        self,
        database: Database,
        settings: Settings,
        vault: Vault,
        quota: QuotaApi,
        resolve: Resolve = resolve,
    ) -> None:
        self.database = database
        self.settings = settings
        self.vault = vault
        self.dispatcher = DeliveryDispatcher(database, settings, vault, quota, resolve)
        metrics.watch_backlog(database)
        watch_pool(
            "attempts", "webhooks", lambda: self.dispatcher.in_flight, lambda: settings.attempts_at_once
        )
        database.on_commit(ARRIVED, DELIVERIES_DUE.wake)
