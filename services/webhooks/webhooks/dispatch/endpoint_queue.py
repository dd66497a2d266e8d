"""The deliveries that this process has loaded for one endpoint, and what it knows of that endpoint. No I/O.

One process at a time serves an endpoint: that makes the limits of concurrent attempts exact and lets connections be
kept. Loaded deliveries stay pending in the database until their outcome is recorded: a process that dies leaves
nothing to repair.
"""

import math
import time
from collections import deque
from collections.abc import Collection
from typing import NamedTuple

from chassis.http.webhook_connection import WebhookConnection
from webhooks.dispatch import rules
from webhooks.records import DueDelivery, Outcome, Recorded


class EndpointQueue:
    """The queue of one subscription. Callers hold the dispatcher's lock."""

    def __init__(self, subscription_id: str, fence: int, failures: int, valid_until: float) -> None:
        self.id = subscription_id
        #: Fencing number: outcomes are recorded only while the database has the same.
        self.fence = fence
        #: Consecutive failures, as last recorded.
        self.failures = failures
        #: Until then (monotonic) no other process can take the queue.
        self.valid_until = valid_until
        self.url = ""
        self.is_active = True
        self.enabled_count = 0
        #: Newest first: as stored, and decrypted. None decrypted: no key reads the newest.
        self.stored_secrets: tuple[str, ...] = ()
        self.secrets: tuple[str, ...] = ()
        #: Moving average; infinity until the first answer.
        self.answer_seconds = math.inf
        #: Deliveries acknowledged since the queue was taken.
        self.acknowledged = 0
        #: Loaded deliveries whose attempt has not begun.
        self.ready: deque[DueDelivery] = deque()
        #: Ids of loaded deliveries, in flight ones included.
        self.loaded: set[str] = set()
        #: Attempts that have begun and are not recorded.
        self.in_flight = 0
        #: Deliveries are being loaded or charged for.
        self.is_loading = False
        #: Grows with each `clear`: what was being loaded then is dropped.
        self.generation = 0
        #: Nothing is loaded before then (monotonic).
        self.paused_until = 0.0
        #: Since when each attempt has failed for a reason that may be local (monotonic); infinity: the last did not.
        self.unreachable_since = math.inf
        self.used_at = time.monotonic()
        #: When deliveries were last loaded (monotonic), and whether more may be due.
        self.loaded_at = 0.0
        self.has_more = False
        #: Idle connections to the endpoint.
        self.connections: list[WebhookConnection] = []

    def wanted(self, most: int) -> int:
        """Returns how many more deliveries to load, of `most` in all.

        0 while half of them are there, and without a readable secret: nothing is sent unsigned.
        """
        limit = rules.prefetch(self.failures, self.acknowledged, most)
        has_enough = len(self.loaded) > limit // 2
        if has_enough or self.is_loading or self.paused_until > time.monotonic() or not self.secrets:
            return 0
        return limit - len(self.loaded)

    def add(self, due: Collection[DueDelivery]) -> None:
        self.ready.extend(due)
        self.loaded.update(one.id for one in due)

    def begin(self, free_slots: int) -> DueDelivery | None:
        """Takes the next delivery to attempt; None when there is none, or the endpoint has its share in flight."""
        limit = rules.concurrency(self.failures, self.answer_seconds, free_slots)
        if not self.ready or self.in_flight >= limit or time.monotonic() >= self.valid_until:
            return None
        self.in_flight += 1
        return self.ready.popleft()

    def assess(self, outcome: Outcome) -> Outcome:
        """Decides whether a failure that may be local is, by what other endpoints answered."""
        if not outcome.is_local:
            self.unreachable_since = math.inf
            return outcome
        self.unreachable_since = min(self.unreachable_since, time.monotonic())
        return outcome._replace(
            is_local=not rules.is_receivers_fault(self.unreachable_since, outcome.others_at)
        )

    def postpone(self) -> None:
        """Pauses the endpoint and drops what has not begun: all of it stays due."""
        now = time.monotonic()
        self.paused_until = now + rules.pause_seconds(now - self.unreachable_since)
        self.clear()

    def note(self, outcome: Outcome, recorded: Recorded) -> None:
        """Learns from a recorded outcome."""
        self.failures = recorded.failures
        self.acknowledged += recorded.state == "delivered"
        seconds = outcome.duration_ms / 1000
        is_first = math.isinf(self.answer_seconds)
        self.answer_seconds = seconds if is_first else 0.8 * self.answer_seconds + 0.2 * seconds
        if recorded.disabled_reason is not None:
            self.is_active = False
            self.clear()

    def end(self, due: DueDelivery) -> None:
        """Frees the slot of an attempt."""
        self.in_flight -= 1
        self.loaded.discard(due.id)
        self.used_at = time.monotonic()

    def clear(self) -> None:
        """Drops what has not begun: the subscription has changed, or another process may have the queue."""
        self.generation += 1
        self.loaded.difference_update(one.id for one in self.ready)
        self.ready.clear()

    @property
    def is_busy(self) -> bool:
        return bool(self.loaded) or self.is_loading

    def is_idle(self, seconds: float) -> bool:
        return not self.is_busy and self.used_at + seconds < time.monotonic()


class Load(NamedTuple):
    """Deliveries loaded for a queue, and the queue's generation when loading began."""

    queue: EndpointQueue
    generation: int
    due: list[DueDelivery]

    @property
    def is_current(self) -> bool:
        """Whether the queue has not been cleared since."""
        return self.generation == self.queue.generation
