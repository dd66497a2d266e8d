"""What the use cases share, made once per process: settings, providers, clients, turns, claims that are held."""

import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from ai.config import Settings
from ai.payments.base import PaymentProvider
from ai.providers.base import GenerationFailed, Provider
from ai.providers.registry import Providers
from ai.records import Claim
from ai.storage import Storage
from ai.store.jobs import Jobs
from chassis.db.database import Database
from chassis.runtime.pool import Pool
from contracts.errors import AI_NOT_CONFIGURED, SERVICE_UNAVAILABLE, ApiError

#: A call that has to wait longer to be let in at all is refused. Our choice.
_LET_IN_SECONDS = 2.0


class AppContext:
    """One process's working parts over one database. `media` has the methods of contracts.media.MediaApi."""

    def __init__(
        self,
        database: Database,
        settings: Settings,
        media: Any,
        providers: Providers,
        payments: PaymentProvider,
    ) -> None:
        self.database = database
        self.settings = settings
        self.media = media
        self.providers = providers
        self.payments = payments
        self.storage = Storage()
        self._live_calls = threading.BoundedSemaphore(settings.live_calls)
        self._turns = threading.BoundedSemaphore(settings.provider_calls)
        self._held: dict[Claim, float] = {}
        self._room_bytes = settings.reference_room_bytes
        self._rooms: Counter[str] = Counter()
        self._room_changed = threading.Condition()

    @cached_property
    def steps(self) -> Pool:
        return Pool(self.settings.video_steps)

    def provider(self, work: str) -> Provider:
        """Raises ApiError AI_NOT_CONFIGURED."""
        found = self.providers.find(work)
        if found is None:
            raise ApiError(AI_NOT_CONFIGURED)
        return found

    @contextmanager
    def live_call(self) -> Iterator[None]:
        """Around what spends credits while a client waits: a slow provider leaves workers for everything else.

        Raises SERVICE_UNAVAILABLE when too many wait already; nothing has been charged then.
        """
        if not self._live_calls.acquire(timeout=_LET_IN_SECONDS):
            raise ApiError(SERVICE_UNAVAILABLE, retry_after_seconds=5)
        try:
            yield
        finally:
            self._live_calls.release()

    @contextmanager
    def turn(self, deadline: float) -> Iterator[None]:
        """A place at the provider. Raises GenerationFailed when none came free in time."""
        if not self._turns.acquire(timeout=max(deadline - time.monotonic(), 0)):
            raise GenerationFailed("Too many pictures are being made at the moment.")
        try:
            yield
        finally:
            self._turns.release()

    @contextmanager
    def room(self, account_id: str, size_bytes: int) -> Iterator[Callable[[int], None]]:
        """Memory for references of at most so many bytes, until the block ends; what is yielded gives back all but so
        many. Who wants more than there is in all has it alone. An account has at most half, or one call's.

        Raises SERVICE_UNAVAILABLE when none came free in time; at once when the account has its share.
        """
        in_all = self.settings.reference_room_bytes
        taken = min(size_bytes, in_all)
        with self._room_changed:

            def has_share() -> bool:
                held = self._rooms[account_id]
                return held > 0 and held + taken > in_all // 2

            came = self._room_changed.wait_for(
                lambda: has_share() or taken <= self._room_bytes, self.settings.reference_seconds / 2
            )
            if not came or has_share():
                raise ApiError(SERVICE_UNAVAILABLE, retry_after_seconds=5)
            self._room_bytes -= taken
            self._rooms[account_id] += taken

        def keep(kept_bytes: int) -> None:
            nonlocal taken
            with self._room_changed:
                given_back = max(taken - kept_bytes, 0)
                self._room_bytes += given_back
                self._rooms[account_id] -= given_back
                if not self._rooms[account_id]:
                    del self._rooms[account_id]
                taken -= given_back
                self._room_changed.notify_all()

        try:
            yield keep
        finally:
            keep(0)

    @contextmanager
    def holding(self, claim: Claim, deadline: float) -> Iterator[None]:
        """The claim is renewed meanwhile, at most until the deadline (of `time.monotonic`)."""
        self._held[claim] = deadline
        try:
            yield
        finally:
            self._held.pop(claim, None)

    def lapses_at(self, claim: Claim) -> float:
        """When a held claim ends if nothing else ends it (of `time.monotonic`): what is stored later is void."""
        return self._held.get(claim, math.inf) + self.settings.lease_seconds

    def renew_claims(self) -> None:
        now = time.monotonic()
        held = [claim for claim, deadline in list(self._held.items()) if now < deadline]
        if held:
            with self.database.transaction() as connection:
                Jobs(connection).renew(held, self.settings.lease_seconds)
