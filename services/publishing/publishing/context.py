"""The objects that requests and loops of one process share: settings, vault, connectors, worker lease, task pools."""

import time
from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property

from chassis.db.database import Database
from chassis.db.leases import WorkerLease
from chassis.runtime.limiter import Limiter
from chassis.runtime.loops import FINISH_SECONDS, Waker
from chassis.runtime.pool import Pool
from chassis.vault import UnreadableSecret, Vault
from contracts.errors import PAGE_EXPIRED, ApiError
from contracts.media import MediaApi
from publishing.config import Settings
from publishing.platforms import registry
from publishing.platforms.base import Account, Connector, NotConnected, PlatformRefusal, Refusal
from publishing.platforms.oauth.base import Login
from publishing.records import Credentials, PageRow

#: Wake the loops in service.py.
DUE_POSTS, FIRST_COMMENTS, COMMENT_DETAILS, SUBSCRIPTIONS, RENEWALS = (Waker() for _ in range(5))
#: Background calls that do not send posts: a dozen of one kind, and one of each of the five other kinds.
_SIDE_POOL = 17
#: Brands whose locks are waited for at once. Each wait holds a connection of the database, for a second at most.
_BRANDS_POOL = 4
#: An account gets at most this share of the live calls that others leave, so that a slot is free for the next account.
_MAX_SHARE = Fraction(2, 3)
#: A live call that waits longer than this for a free slot is refused: a client retries sooner than a hanging platform
#: answers.
_SLOT_SECONDS = 2.0


class ContendedBrands:
    """The brands that have due posts but are locked by another transaction. Only one task at a time waits for the lock
    of a brand."""

    def __init__(self) -> None:
        self._busy: set[str] = set()
        self._begun_at: dict[str, float] = {}

    def in_turn(self, pages: Mapping[str, list[str]]) -> list[tuple[str, list[str]]]:
        """Sorts contended brands, given with their pages: first those that had no task yet, then those whose last task
        began earliest. Forgets the tasks of all other brands.
        """
        self._begun_at = {brand_id: at for brand_id, at in self._begun_at.items() if brand_id in pages}
        return sorted(pages.items(), key=lambda item: self._begun_at.get(item[0], 0.0))

    def begin(self, brand_id: str) -> bool:
        """Notes that a task now waits for the brand's lock. Returns False if another task waits for it already."""
        if brand_id in self._busy:
            return False
        self._busy.add(brand_id)
        self._begun_at[brand_id] = time.monotonic()
        return True

    def end(self, brand_id: str) -> None:
        self._busy.discard(brand_id)


class AppContext:
    """The objects that the requests and loops of one process of the publishing service share, for one database."""

    def __init__(
        self,
        database: Database,
        settings: Settings,
        media: MediaApi,
        connectors: Mapping[str, Connector] | None = None,
    ) -> None:
        self.database = database
        self.settings = settings
        self.media = media
        self.vault = Vault(settings.credential_keys)
        self.connectors = connectors or registry.connectors(settings.platforms)
        self.logins = registry.logins(settings.platforms)
        #: Renewed only after `keep` is called.
        self.lease = WorkerLease(database, settings.lease_seconds)
        self.is_stopping = False
        self._live_calls = Limiter(settings.live_calls, wait_seconds=_SLOT_SECONDS, max_share=_MAX_SHARE)
        #: Holds a slot for a call to a platform whose client waits: `live_call(account_id)`. Workers stay free when
        #: platforms hang, and no account can take all slots.
        self.live_call = self._live_calls.slot

    @cached_property
    def page_queues(self) -> Pool:
        """The pool that sends due posts: one task per page."""
        return Pool(self.settings.page_queues)

    @cached_property
    def brands(self) -> Pool:
        """The pool of tasks that each wait for the lock of one brand. It is separate from `page_queues`, so that such
        waits do not hold up the claims for other brands.
        """
        return Pool(_BRANDS_POOL)

    @cached_property
    def side(self) -> Pool:
        """The pool for background calls other than posts and polls: reconciliation, first comments, renewals,
        subscriptions."""
        return Pool(_SIDE_POOL)

    @cached_property
    def polling(self) -> Pool:
        """The pool for polls and for reading details of comments. It is separate, so that reconciliation goes on while
        a platform does not answer polls.
        """
        return Pool(self.settings.poll_calls)

    def finish(self) -> None:
        """Stops sending due posts, and waits until no call to a platform is in progress, but at most FINISH_SECONDS.
        Then ends the worker's lease.

        A call that runs longer has lost its claim and sends nothing more. Calls for clients' requests count as well,
        because such a call may go on after its client was answered.
        """
        self.is_stopping = True
        end = time.monotonic() + FINISH_SECONDS
        for pool in (self.brands, self.page_queues, self.side, self.polling):
            pool.wait_idle(end - time.monotonic())
        self._live_calls.wait_idle(end - time.monotonic())
        self.lease.end()

    def connector(self, platform: str) -> Connector:
        """Returns a platform's connector. Raises NotConnected for a platform that this release does not support."""
        if platform not in self.connectors:
            raise NotConnected(platform, platform)
        return self.connectors[platform]

    def connection_to(self, page: PageRow) -> tuple[Connector, Account]:
        """Returns the connector of the page's platform, and the page's account with its decrypted access token.

        Raises NotConnected for a platform without a connector, PlatformRefusal for credentials that no configured key
        can decrypt.
        """
        connector = self.connector(page.platform)
        try:
            token = Credentials.opened(self.vault, page.access_token).access_token
        except UnreadableSecret as error:
            raise PlatformRefusal(Refusal.EXPIRED, "CREDENTIAL_UNREADABLE", str(error)) from error
        return connector, Account(page.remote_account_id, token, page.username)

    def login_of(self, platform: str, credentials: Credentials) -> Login | None:
        """Returns the platform's `Login` for the app of ours to which these credentials were issued; None if that app
        is not configured here."""
        login = self.logins.get(platform)
        return login and login.of_app(credentials.app, credentials.scopes)

    def expired(self, page_id: str) -> ApiError:
        """Builds the error PAGE_EXPIRED with the address for reconnecting the page."""
        return ApiError(PAGE_EXPIRED, page_id=page_id, reconnect_url=self.reconnect_url(page_id))

    def reconnect_url(self, page_id: str) -> str:
        return self.settings.reconnect_url.format(page_id=page_id)
