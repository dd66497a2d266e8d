"""The deliveries that this process has loaded for one endpoint, the state of that endpoint, and the rules for both: how
many attempts run at once, how many deliveries are loaded, and whether the receiver is to blame for a failure. No I/O.

One process at a time serves an endpoint, so that the limits of concurrent attempts are exact and connections can be
kept. Loaded deliveries stay pending in the database until their outcome is recorded, so a process that dies leaves
nothing to repair.
"""

import math
import time
from collections import deque
from collections.abc import Callable

from chassis.db.batches import Batches
from chassis.http.webhook_connection import WebhookConnection
from webhooks.records import MAX_CONSECUTIVE_FAILURES, DueDelivery, Outcome, Recorded

#: Concurrent attempts to one endpoint: enough for a busy one, few enough not to overload a small server.
MAX_CONCURRENT = 8
#: An endpoint that answers within 50 ms is served as fast by 6, and fewer attempts are repeated after a process was
#: killed. Our choice.
_FAST_SECONDS, _FAST_CONCURRENT = 0.05, 6
#: How long after its due time an attempt is still postponed if it fails for lack of a local resource. Later the failure
#: counts, so that none is postponed for ever.
MAX_POSTPONED_SECONDS = 600.0
#: How long an endpoint must have been unreachable before a success of another endpoint shows that the cause is the
#: receiver's: short failures of our own network are over by then.
_BLAME_SECONDS = 60.0
#: The shortest and longest pause of an endpoint after a postponed attempt; it grows with the outage.
_MIN_PAUSE_SECONDS, _MAX_PAUSE_SECONDS = 1.0, 15.0


class EndpointQueue:
    """The deliveries of one subscription that this process has loaded, and the state of its endpoint. Hold the
    dispatcher's lock to call a method that changes the queue.
    """

    def __init__(
        self,
        subscription_id: str,
        fence: int,
        failures: int,
        valid_until: float,
        write: Callable[[list[Outcome]], list[Recorded | None]],
    ) -> None:
        self.id = subscription_id
        #: Fencing number: outcomes are recorded only while the database has the same.
        self.fence = fence
        #: Consecutive failures, as last recorded.
        self.failures = failures
        self._write = write
        #: Until then (monotonic) no other process can take the queue.
        self.valid_until = valid_until
        #: Writes outcomes in the order of the answers.
        self.outcomes = Batches(self._record)
        self.url = ""
        self.is_active = True
        self.enabled_count = 0
        #: The signing secrets, newest first, as stored and decrypted. `secrets` is empty while no key decrypts the
        #: newest.
        self.stored_secrets: tuple[str, ...] = ()
        self.secrets: tuple[str, ...] = ()
        #: Moving average; infinity until the first answer.
        self.answer_seconds = math.inf
        #: Deliveries acknowledged since the queue was taken.
        self.acknowledged = 0
        #: Loaded deliveries by id: those that wait for their unit, ready ones, and those in flight.
        self.loaded: dict[str, DueDelivery] = {}
        #: Loaded deliveries that have their unit, and whose attempt has not begun.
        self.ready: deque[DueDelivery] = deque()
        #: Ids of deliveries whose attempt has begun and is not recorded.
        self.in_flight: set[str] = set()
        #: Grows with each `clear`: what was being loaded then is dropped.
        self.generation = 0
        #: Nothing is loaded before then (monotonic).
        self.paused_until = 0.0
        #: Since when each attempt has failed for a reason that may be local (monotonic); infinity if the last attempt
        #: did not.
        self.unreachable_since = math.inf
        self.used_at = time.monotonic()
        #: When deliveries were last loaded (monotonic), and whether more may be due.
        self.loaded_at = 0.0
        self.has_more = False
        #: Idle connections to the endpoint.
        self.connections: list[WebhookConnection] = []

    def _record(self, outcomes: list[Outcome]) -> list[Recorded | None]:
        """Records outcomes, and at once copies the endpoint's count of failures in a row from each result.

        The threads that wait for the results must not copy it: an older count could then replace a newer one and permit
        too many attempts.
        """
        written = self._write(outcomes)
        for recorded in written:
            if recorded is not None:
                self.failures = recorded.failures
        return written

    def wanted(self, most: int) -> int:
        """Returns how many more deliveries to load now. The queue may hold `most` deliveries, and fewer if it is new or
        its endpoint has failed (`prefetch`).

        Returns 0 while the queue is paused, while more than half of its places are taken, and while it has no readable
        secret: nothing is sent unsigned.
        """
        limit = prefetch(self.failures, self.acknowledged, most)
        has_enough = len(self.loaded) > limit // 2
        if has_enough or self.paused_until > time.monotonic() or not self.secrets:
            return 0
        return limit - len(self.loaded)

    def make_ready(self, due: DueDelivery) -> bool:
        """Adds a loaded delivery, for which no unit has to be charged any more, to the end of those that wait for an
        attempt. Returns False if the delivery has been dropped from the queue meanwhile.
        """
        is_loaded = self.loaded.get(due.id) is due
        if is_loaded:
            self.ready.append(due)
        return is_loaded

    def begin(self, free_slots: int) -> DueDelivery | None:
        """Takes the next delivery to attempt. Returns None if none is ready, if the endpoint has as many attempts
        running as it may, or if the queue's lease may be over."""
        limit = concurrency(self.failures, self.answer_seconds, free_slots)
        if not self.ready or len(self.in_flight) >= limit or time.monotonic() >= self.valid_until:
            return None
        due = self.ready.popleft()
        self.in_flight.add(due.id)
        return due

    def assess(self, outcome: Outcome) -> Outcome:
        """Notes whether the endpoint could be reached, and returns the outcome.

        `outcome.is_local` says that our own network may have caused the failure. If the receiver is to blame instead
        (`is_receivers_fault`), the returned outcome has `is_local` False.
        """
        if not outcome.is_local:
            self.unreachable_since = math.inf
            return outcome
        self.unreachable_since = min(self.unreachable_since, time.monotonic())
        return outcome._replace(is_local=not is_receivers_fault(self.unreachable_since, outcome.others_at))

    def postpone(self) -> list[DueDelivery]:
        """Pauses the endpoint. Drops from memory the deliveries whose attempt has not begun; in the database they stay
        due.

        Returns those of them that were ready for an attempt. If such a delivery uses a unit, the unit is charged
        already, and a later attempt must not charge it again.
        """
        now = time.monotonic()
        self.paused_until = now + pause_seconds(now - self.unreachable_since)
        return self.clear()

    def note(self, outcome: Outcome, recorded: Recorded) -> list[DueDelivery]:
        """Updates the queue after an outcome was recorded: response time, successes, whether the subscription is
        active.

        If the outcome disabled the subscription, drops and returns deliveries as `clear` does; otherwise returns none.
        """
        self.acknowledged += recorded.state == "delivered"
        seconds = outcome.answered_at - outcome.began_at
        is_first = math.isinf(self.answer_seconds)
        self.answer_seconds = seconds if is_first else 0.8 * self.answer_seconds + 0.2 * seconds
        was_active, self.is_active = self.is_active, recorded.is_active
        return self.clear() if was_active and not recorded.is_active else []

    def end(self, due: DueDelivery) -> None:
        """Removes a delivery from the queue after its attempt, which frees a slot."""
        self.in_flight.discard(due.id)
        self.loaded.pop(due.id, None)
        self.used_at = time.monotonic()

    def clear(self) -> list[DueDelivery]:
        """Drops from memory the deliveries whose attempt has not begun. Called when the subscription has changed, the
        endpoint is paused, or another process may hold the queue.

        Returns those of them that were ready for an attempt. If such a delivery uses a unit, the unit is charged
        already, and a later attempt must not charge it again.
        """
        self.generation += 1
        dropped = list(self.ready)
        self.ready.clear()
        self.loaded = {id_: due for id_, due in self.loaded.items() if id_ in self.in_flight}
        return dropped

    def is_idle(self, seconds: float) -> bool:
        return not self.loaded and self.used_at + seconds < time.monotonic()


def is_receivers_fault(unreachable_since: float, others_at: float) -> bool:
    """Whether the receiver, and not our network, is to blame for a failure to reach its endpoint.

    That is so if another endpoint was reached after this one had been unreachable for a minute. `unreachable_since`:
    when the unbroken series of failures to reach this endpoint began. `others_at`: when another endpoint was last
    reached. Both are of `time.monotonic`.
    """
    return others_at >= unreachable_since + _BLAME_SECONDS


def pause_seconds(unreachable_seconds: float) -> float:
    """Returns the seconds to pause before the next attempt to an endpoint that has been unreachable for
    `unreachable_seconds`.
    """
    return min(max(unreachable_seconds, _MIN_PAUSE_SECONDS), _MAX_PAUSE_SECONDS)


def concurrency(consecutive_failures: int, answer_seconds: float, free_slots: int) -> int:
    """Returns how many attempts an endpoint may have running at once, at least 1. `free_slots`: how many more attempts
    the process can run.

    Never more than the failures that are left before the endpoint is disabled, so that the 20th failure in a row is the
    last attempt. The fewer slots are free, the fewer each endpoint gets, so that slow endpoints leave room for others.
    """
    left = MAX_CONSECUTIVE_FAILURES - consecutive_failures
    most = _FAST_CONCURRENT if answer_seconds < _FAST_SECONDS else MAX_CONCURRENT
    return max(1, min(most, left, free_slots // (2 * MAX_CONCURRENT)))


def prefetch(consecutive_failures: int, acknowledged: int, most: int) -> int:
    """Returns how many deliveries of an endpoint may be loaded before the results of earlier ones are known, at most
    `most`.

    Each loaded delivery uses a unit of the account's monthly counter. The number grows with each acknowledged delivery,
    and is small after failures, so that a dead endpoint uses few units.
    """
    if consecutive_failures > 0:
        return max(1, min(most, MAX_CONSECUTIVE_FAILURES - consecutive_failures))
    return min(most, 2 * MAX_CONCURRENT + acknowledged)
