"""What the use cases of one process share: settings, clients, limits, and the claims that the process holds."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property, partial

from ai.config import Settings
from ai.memory_budget import MemoryBudget
from ai.payments.base import PaymentProvider
from ai.providers.base import GenerationFailed, Provider
from ai.providers.registry import Providers
from ai.records import Claim
from ai.storage import Storage
from ai.store.jobs import Jobs
from chassis.db.database import Database
from chassis.runtime.limiter import Limiter
from chassis.runtime.pool import Pool
from contracts.errors import AI_NOT_CONFIGURED, ApiError
from contracts.media import MediaApi

#: A call that waits longer than this for one of the `live_calls` is refused: image calls take far longer, so waiting on
#: gains little.
_ADMISSION_SECONDS = 2.0
_TOO_MANY = "Too many images are being generated at the moment."


class AppContext:
    def __init__(
        self,
        database: Database,
        settings: Settings,
        media: MediaApi,
        providers: Providers,
        payments: PaymentProvider,
    ) -> None:
        self.database = database
        self.settings = settings
        self.media = media
        self.providers = providers
        self.payments = payments
        self.storage = Storage()
        #: Waits before a call is repeated. Tests record it instead.
        self.pause: Callable[[float], None] = time.sleep
        self.reference_memory = MemoryBudget(
            settings.reference_memory_bytes, wait_seconds=settings.reference_seconds / 2
        )
        #: Limits the calls that spend credits while a client waits, so that a slow provider does not take all workers.
        #: It refuses before anything is charged.
        self.live_call = Limiter(settings.live_calls, wait_seconds=_ADMISSION_SECONDS).slot
        #: Limits the calls to the provider. Raises GenerationFailed.
        self.provider_slot = Limiter(
            settings.provider_calls, refusal=partial(GenerationFailed, _TOO_MANY)
        ).slot
        #: Claim -> deadline of its renewal, of `time.monotonic`.
        self._held_claims: dict[Claim, float] = {}

    @cached_property
    def video_steps_pool(self) -> Pool:
        return Pool(self.settings.video_steps)

    def provider(self, work: str) -> Provider:
        """Returns the provider for a kind of work (images, videos or captions). Raises AI_NOT_CONFIGURED if the
        deployment has none.
        """
        found = self.providers.find(work)
        if found is None:
            raise ApiError(AI_NOT_CONFIGURED)
        return found

    @contextmanager
    def hold_claim(self, claim: Claim, deadline: float) -> Iterator[None]:
        """Lets the worker loop renew a claim on a job while the block runs, at most until the deadline (by
        `time.monotonic`).
        """
        self._held_claims[claim] = deadline
        try:
            yield
        finally:
            self._held_claims.pop(claim, None)

    def claim_deadline(self, claim: Claim) -> float:
        """Returns the time until which a held claim is renewed (by `time.monotonic`); infinity for a claim that is not
        held.
        """
        return self._held_claims.get(claim, math.inf)

    def claim_ends_at(self, claim: Claim) -> float:
        """Returns the latest time at which a held claim can lapse (by `time.monotonic`). After it another worker may
        claim the job; from then on the writes of this worker are rejected.
        """
        return self.claim_deadline(claim) + self.settings.lease_seconds

    def renew_claims(self) -> None:
        now = time.monotonic()
        held = [claim for claim, deadline in list(self._held_claims.items()) if now < deadline]
        if held:
            with self.database.transaction() as connection:
                Jobs(connection).renew(held, self.settings.lease_seconds)
