"""What the use cases share, made once per process: settings, vault, connectors, scribe, pools, the media client."""

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache, cached_property
from typing import Any

from chassis.bus.rpc import Bus
from chassis.db.database import Database
from chassis.db.leases import WorkerLease
from chassis.runtime.gauges import watch_pool
from chassis.runtime.loops import FINISH_SECONDS
from contracts.errors import PAGE_EXPIRED, SERVICE_UNAVAILABLE, ApiError
from contracts.media import MediaApi
from publishing.config import Settings
from publishing.credentials import UnreadableCredential, Vault
from publishing.pages.expiry import Expired, expire
from publishing.platforms.base import Account, PlatformRefusal, Refusal
from publishing.platforms.registry import Registry, logins
from publishing.records import PageRow
from publishing.sending import metrics
from publishing.sending.outcome_writer import Scribe
from publishing.store.standbys import warn_of_asynchronous
from publishing.task_pool import InTurn, Pool

#: The typed client of `contracts.media.MediaApi`; its methods take `timeout_seconds` as well.
MediaClient = Any
#: Calls beside those that send, at once: a dozen of one kind, and one of each of the five others. Our choice.
_SIDE_POOL = 17
#: Brands whose locks are waited for at once: each waits a second at most. Our choice.
_BRANDS_POOL = 4
#: An account gets no more than so many times the turns that are left: alone two thirds of all. Our choice.
_GREED = 2
#: A call that has to wait longer for its turn at the platforms is refused. Our choice.
_TURN_SECONDS = 2.0


class House:
    """One process's working parts over one database."""

    def __init__(
        self, database: Database, settings: Settings, media: MediaClient, registry: Registry | None = None
    ) -> None:
        self.database = database
        self.settings = settings
        self.media = media
        self.vault = Vault(settings.credential_keys)
        self.registry = registry or Registry(settings.platforms)
        self.logins = logins(settings.platforms)
        #: Nobody renews it until `keep` is called.
        self.lease = WorkerLease(database, settings.lease_seconds)
        self.scribe = Scribe(database, settings.lease_seconds)
        #: Brands with due posts whose lock somebody holds.
        self.contended = InTurn()
        self.is_stopping = False
        #: By account: those that have turns.
        self._live: Counter[str] = Counter()
        self._live_changed = threading.Condition()

    @cached_property
    def lanes(self) -> Pool:
        return Pool("lane", self.settings.lanes)

    @cached_property
    def brands(self) -> Pool:
        """Waits for the locks of brands, beside the claims of all others."""
        return Pool("brand", _BRANDS_POOL)

    @cached_property
    def side(self) -> Pool:
        return Pool("side", _SIDE_POOL)

    @cached_property
    def polling(self) -> Pool:
        """Calls about comments that nobody waits for: a platform that hangs holds up no look-up."""
        return Pool("polling", self.settings.poll_calls)

    def finish(self) -> None:
        """No further due post is begun. Returns when no call to a platform is on its way, or takes too long; what goes
        on even so has lost its claim, and sends nothing any more.

        Live calls count: one may go on behind its answer.
        """
        self.is_stopping = True
        end = time.monotonic() + FINISH_SECONDS
        for pool in (self.brands, self.lanes, self.side, self.polling):
            pool.wait_free(pool.size, max(end - time.monotonic(), 0.0))
        with self._live_changed:
            self._live_changed.wait_for(lambda: not self._live, max(end - time.monotonic(), 0.0))
        self.lease.end()

    @contextmanager
    def live_call(self, account_id: str) -> Iterator[None]:
        """Around what calls a platform while a client waits: platforms that hang leave workers for everything else, and
        nobody's calls take the turns of everybody.

        Raises SERVICE_UNAVAILABLE when all turns are taken, or as many as the account may have.
        """
        with self._live_changed:
            if not self._live_changed.wait_for(lambda: self._has_turn_for(account_id), _TURN_SECONDS):
                raise ApiError(SERVICE_UNAVAILABLE, retry_after_seconds=5)
            self._live[account_id] += 1
        try:
            yield
        finally:
            with self._live_changed:
                self._live -= Counter((account_id,))  # keeps nobody who has none
                self._live_changed.notify_all()

    def _has_turn_for(self, account_id: str) -> bool:
        left = self.settings.live_calls - self._live.total()
        return self._live[account_id] < left * _GREED

    def account(self, page: PageRow) -> Account:
        """The page's credentials for one call. Raises PlatformRefusal when they cannot be read any more."""
        try:
            token = self.vault.credentials(page.access_token).access_token
            return Account(page.remote_account_id, token, page.username)
        except UnreadableCredential as error:
            raise PlatformRefusal(Refusal.EXPIRED, "CREDENTIAL_UNREADABLE", str(error)) from error

    def expired(self, page_id: str) -> ApiError:
        """PAGE_EXPIRED with where to reconnect."""
        return ApiError(PAGE_EXPIRED, page_id=page_id, reconnect_url=self.reconnect_url(page_id))

    def reconnect_url(self, page_id: str) -> str:
        return self.settings.reconnect_url.format(page_id=page_id)

    def found_expired(self, page: PageRow, refusal: PlatformRefusal | None) -> Expired | None:
        """What a refusal shows, if it shows that."""
        if refusal is None or refusal.kind is not Refusal.EXPIRED:
            return None
        return Expired(page, refusal.code, refusal.message, self.reconnect_url(page.id))

    def note_expired(self, page: PageRow, refusal: PlatformRefusal) -> None:
        """Marks the page if a refusal shows it to be expired."""
        found = self.found_expired(page, refusal)
        if found is not None:
            with self.database.transaction() as connection:
                expire(connection, found)


@cache
def house_of(database: Database, bus: Bus) -> House:
    """The house of this process's database, with the settings of the environment. Raises ConfigError."""
    house = House(database, Settings.from_env(), bus.service("media", MediaApi))
    house.lease.keep()
    metrics.watch_backlog(database)
    with suppress(ApiError), database.reading() as connection:
        warn_of_asynchronous(connection)
    for name, pool in (("lanes", house.lanes), ("side", house.side), ("polling", house.polling)):
        _watch(name, pool)
    return house


def _watch(name: str, pool: Pool) -> None:
    watch_pool(name, "publishing", lambda: pool.size - pool.free, lambda: pool.size)
