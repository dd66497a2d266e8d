"""What the use cases of one process share: settings, vault, connectors, worker lease, task pools, media's client."""

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property

from chassis.db.database import Database
from chassis.db.leases import WorkerLease
from chassis.runtime.loops import FINISH_SECONDS, Waker
from contracts.errors import PAGE_EXPIRED, SERVICE_UNAVAILABLE, ApiError
from contracts.media import MediaApi
from publishing.config import Settings
from publishing.credentials import CredentialVault
from publishing.platforms.registry import Registry, logins
from publishing.task_pool import Pool

#: Wake the loops in service.py.
DUE_POSTS, FIRST_COMMENTS, COMMENT_DETAILS, SUBSCRIPTIONS, RENEWALS = (Waker() for _ in range(5))
#: Background calls that do not send posts: a dozen of one kind, and one of each of the five other kinds. Our choice.
_SIDE_POOL = 17
#: Brands whose locks are waited for at once, a second each at most. Our choice.
_BRANDS_POOL = 4
#: An account gets at most this many times the live calls that are left: alone, two thirds of all. Our choice.
_MAX_SHARE = 2
#: A live call that waits longer than this for a free slot is refused. Our choice.
_SLOT_SECONDS = 2.0


class AppContext:
    """One process's shared parts over one database."""

    def __init__(
        self, database: Database, settings: Settings, media: MediaApi, registry: Registry | None = None
    ) -> None:
        self.database = database
        self.settings = settings
        self.media = media
        self.vault = CredentialVault(settings.credential_keys)
        self.registry = registry or Registry(settings.platforms)
        self.logins = logins(settings.platforms)
        #: Renewed only after `keep` is called.
        self.lease = WorkerLease(database, settings.lease_seconds)
        self.is_stopping = False
        #: Live calls in progress, by account.
        self._live: Counter[str] = Counter()
        self._live_changed = threading.Condition()

    @cached_property
    def page_queues(self) -> Pool:
        """Sends the due posts of pages, one task a page."""
        return Pool("page queue", self.settings.page_queues)

    @cached_property
    def brands(self) -> Pool:
        """Waits for the locks of brands, beside the claims of all other brands."""
        return Pool("brand", _BRANDS_POOL)

    @cached_property
    def side(self) -> Pool:
        """The pool for background calls other than posts and polls: reconciliation, first comments, renewals,
        subscriptions.
        """
        return Pool("side", _SIDE_POOL)

    @cached_property
    def polling(self) -> Pool:
        """The pool for polls and details of comments: a platform that hangs there delays no reconciliation."""
        return Pool("polling", self.settings.poll_calls)

    def finish(self) -> None:
        """Begins no further due post, and returns when no call to a platform is in progress or FINISH_SECONDS are over.

        A call that still runs then has lost its claim and sends nothing more. Live calls count as well: one may go on
        after its client was answered.
        """
        self.is_stopping = True
        end = time.monotonic() + FINISH_SECONDS
        for pool in (self.brands, self.page_queues, self.side, self.polling):
            pool.wait_free(pool.size, max(end - time.monotonic(), 0.0))
        with self._live_changed:
            self._live_changed.wait_for(lambda: not self._live, max(end - time.monotonic(), 0.0))
        self.lease.end()

    @contextmanager
    def live_call(self, account_id: str) -> Iterator[None]:
        """Holds a slot for a call to a platform whose client waits.

        The limit leaves workers free when platforms hang, and no account can take all slots.

        Raises SERVICE_UNAVAILABLE when no slot is free for the account within `_SLOT_SECONDS`.
        """
        with self._live_changed:
            if not self._live_changed.wait_for(lambda: self._has_slot_for(account_id), _SLOT_SECONDS):
                raise ApiError(SERVICE_UNAVAILABLE, retry_after_seconds=5)
            self._live[account_id] += 1
        try:
            yield
        finally:
            with self._live_changed:
                self._live -= Counter((account_id,))  # drops accounts without calls
                self._live_changed.notify_all()

    def _has_slot_for(self, account_id: str) -> bool:
        left = self.settings.live_calls - self._live.total()
        return self._live[account_id] < left * _MAX_SHARE

    def expired(self, page_id: str) -> ApiError:
        """Builds PAGE_EXPIRED with the address for reconnecting the page."""
        return ApiError(PAGE_EXPIRED, page_id=page_id, reconnect_url=self.reconnect_url(page_id))

    def reconnect_url(self, page_id: str) -> str:
        return self.settings.reconnect_url.format(page_id=page_id)
