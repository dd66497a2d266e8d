"""The loop that delivers: takes endpoint queues with due deliveries, loads their deliveries, charges a unit for each
delivery that needs one, and runs attempts.

No attempt waits for others to end: each attempt that ends makes room for the next one of its endpoint. Each tick
considers all endpoints with due deliveries, however long their queues are, and loads deliveries for the queues that
have room, up to a limit.
"""

import threading
import time
from collections.abc import Collection, Sequence
from contextlib import suppress
from functools import partial

import structlog

from chassis.db.database import Database
from chassis.http.resolver import Resolve
from chassis.http.webhook_connection import WebhookConnection
from chassis.runtime.loops import Waker
from chassis.runtime.pool import Pool
from chassis.vault import UnreadableSecret, Vault
from contracts.errors import ApiError
from contracts.quota import QuotaApi
from webhooks import metrics
from webhooks.config import Settings
from webhooks.dispatch import attempt
from webhooks.dispatch.endpoint_queue import MAX_CONCURRENT, MAX_POSTPONED_SECONDS, EndpointQueue
from webhooks.dispatch.outcome_writer import OutcomeWriter
from webhooks.records import DueDelivery, Endpoint, Outcome, Recorded
from webhooks.store.endpoint_queues import EndpointQueues

log = structlog.get_logger()

#: Wake the loops that run `DeliveryDispatcher.tick`, and that end the deliveries of disabled subscriptions.
DELIVERIES_DUE, ENDPOINTS_DISABLED = Waker(), Waker()
#: Events that arrive within this time are loaded together.
_GATHER_SECONDS = 0.01
#: Most queues and deliveries loaded in one tick.
_QUEUES_A_TICK, _DELIVERIES_A_TICK = 64, 512
#: Retries that are marked as due in one tick: a statement of some 20 ms.
_READY_A_TICK = 1_000
#: The most deliveries that a process loads, shared by its queues: the more queues, the fewer each may load.
_MAX_LOADED = 4_096
#: A queue is kept this long after its last delivery, with its connections.
_LINGER_SECONDS = 3.0
#: Wait before a call of the quota service, or the decryption of secrets, is tried again.
_QUOTA_PAUSE_SECONDS, _KEY_PAUSE_SECONDS = 1.0, 30.0
#: How long a process that is stopped waits for answers; another process repeats the attempts that take longer.
_CLOSING_SECONDS = 6.0
#: No attempt is begun in the last part of a lease, which is this long.
_MARGIN_SECONDS = 1.0
_CONCURRENT_CHARGES = 8


class DeliveryDispatcher:
    """Sends the due deliveries of those endpoint queues that this process has leased. One object per process."""

    def __init__(
        self,
        database: Database,
        settings: Settings,
        vault: Vault,
        quota: QuotaApi,
        resolve: Resolve,
    ) -> None:
        self._database = database
        self._settings = settings
        self._vault = vault
        self._outcomes = OutcomeWriter(database, settings.lease_seconds)
        self._quota = quota
        self._resolve = resolve
        self._attempts = Pool(settings.attempts_at_once)
        self._charges = Pool(_CONCURRENT_CHARGES)
        self._lock = threading.RLock()
        #: The queues this process holds, by subscription.
        self.queues: dict[str, EndpointQueue] = {}
        #: Charged deliveries that were dropped before their first attempt, until the charge is stored in their rows.
        self._dropped: list[DueDelivery] = []
        self.is_closing = False

    @property
    def in_flight(self) -> int:
        return self._settings.attempts_at_once - self._attempts.free

    @property
    def is_quiet(self) -> bool:
        """Whether this process has nothing to do: no delivery is loaded, being charged or being attempted."""
        with self._lock:
            is_loaded = any(queue.loaded for queue in self.queues.values())
        return not is_loaded and self._charges.free == _CONCURRENT_CHARGES

    def tick(self) -> int:
        """Leases free queues and loads due deliveries for the queues that have room. Returns how many deliveries became
        due or were loaded, plus how many queues were leased; 0 when there is nothing to do.
        """
        if self.is_closing:
            return 0
        time.sleep(_GATHER_SECONDS)
        with self._database.reading() as connection:
            store = EndpointQueues(connection)
            self._note_dropped(store)
            became_ready = store.make_ready(_READY_A_TICK)
            with self._lock:
                held = {queue.id: bool(queue.loaded) for queue in self.queues.values()}
            endpoints = store.look(held)
            late = [one.id for one in endpoints if one.has_late]
            if late:
                store.fail_late(late)
            taken = self._take(store, endpoints)
            self._refresh(endpoints)
            due = self._load(store, [one.id for one in endpoints if one.is_due])
        with self._lock:
            self._begin([one for one in due if not attempt.needs_unit(one)])
        uncharged = [one for one in due if attempt.needs_unit(one)]
        if uncharged:
            self._charges.start(partial(self._charge, uncharged))
        return became_ready + taken + len(due)

    def renew(self) -> None:
        """Renews the leases of the queues in use, and ends the leases of idle queues. Removes from memory the queues
        that another process has leased meanwhile.
        """
        idle = self._set_aside([queue for queue in self.queues.values() if queue.is_idle(_LINGER_SECONDS)])
        with self._database.reading() as connection:
            store = EndpointQueues(connection)
            self._release(store, idle)
            queues = list(self.queues.values())
            valid_until = self._valid_until()
            kept = store.renew(_fences(queues), self._settings.lease_seconds) if queues else set()
        for queue in queues:
            if queue.id in kept:
                queue.valid_until = valid_until
            else:
                self._lose(queue)

    def close(self) -> None:
        """Waits until the running attempts have ended, at most for a fixed time, then ends the leases of all queues."""
        self.is_closing = True
        self._attempts.wait_idle(_CLOSING_SECONDS)
        with self._lock:
            queues = self._set_aside(list(self.queues.values()))
            for queue in queues:
                self._clear(queue)
        if queues or self._dropped:
            with self._database.reading() as connection:
                store = EndpointQueues(connection)
                self._note_dropped(store)
                self._release(store, queues)

    def _take(self, store: EndpointQueues, endpoints: Collection[Endpoint]) -> int:
        due = [one.id for one in endpoints if one.is_due and not one.is_held and not one.is_deleted]
        free = [id_ for id_ in due if id_ not in self.queues]
        valid_until = self._valid_until()
        taken = store.take(free[:_QUEUES_A_TICK], self._settings.lease_seconds) if free else []
        with self._lock:
            for id_, fence, failures in taken:
                self.queues[id_] = EndpointQueue(id_, fence, failures, valid_until, self._outcomes.write)
        return len(taken)

    def _refresh(self, endpoints: Collection[Endpoint]) -> None:
        """Copies URL, secrets and state of these endpoints, as just read from the database, into their queues in
        memory. If a subscription was deleted or disabled, drops the deliveries of its queue that wait.
        """
        with self._lock:
            for endpoint in endpoints:
                queue = self.queues.get(endpoint.id)
                if queue is None:
                    continue
                if endpoint.is_deleted or (queue.is_active and not endpoint.is_active):
                    self._clear(queue)
                queue.url, queue.is_active = endpoint.url, endpoint.is_active
                queue.enabled_count = endpoint.enabled_count
                self._read_secrets(queue, endpoint.secrets)

    def _read_secrets(self, queue: EndpointQueue, stored: tuple[str, ...]) -> None:
        """Decrypts the secrets `stored` for the queue. While the newest is unreadable the queue sends nothing, because
        receivers verify with the newest.
        """
        is_same = stored == queue.stored_secrets
        if is_same and (queue.secrets or queue.paused_until > time.monotonic()):
            return
        secrets = [self._decrypted(queue, secret) for secret in stored]
        queue.stored_secrets = stored
        if secrets and secrets[0] is None:
            self._clear(queue)
            queue.secrets, queue.paused_until = (), time.monotonic() + _KEY_PAUSE_SECONDS
        else:
            queue.secrets = tuple(secret for secret in secrets if secret is not None)
            queue.paused_until = 0.0

    def _decrypted(self, queue: EndpointQueue, secret: str) -> str | None:
        try:
            return self._vault.decrypt(secret)
        except UnreadableSecret:
            log.error("webhook_secret_unreadable", webhook_id=queue.id)
            return None

    def _load(self, store: EndpointQueues, due_ids: Collection[str]) -> list[DueDelivery]:
        with self._lock:
            queues = [self.queues[id_] for id_ in due_ids if id_ in self.queues]
            wanted = {queue: queue.wanted(self._most()) for queue in queues}
            for queue, count in wanted.items():
                queue.has_more = count == 0
            chosen = sorted((queue for queue in queues if wanted[queue]), key=lambda queue: queue.loaded_at)
            chosen = chosen[:_QUEUES_A_TICK]
            share = max(4, _DELIVERIES_A_TICK // max(1, len(chosen)))
            limits = {queue.id: min(wanted[queue], share) for queue in chosen}
            loaded = [delivery_id for queue in chosen for delivery_id in queue.loaded]
            generations = {queue: queue.generation for queue in chosen}
            for queue in chosen:
                queue.loaded_at = time.monotonic()
        if not limits:
            return []
        found = store.load(limits, loaded)
        kept: list[DueDelivery] = []
        with self._lock:
            for queue, generation in generations.items():
                due = [one for one in found if one.subscription_id == queue.id]
                queue.has_more = len(due) >= limits[queue.id]
                if queue.generation == generation:
                    queue.loaded.update((one.id, one) for one in due)
                    kept += due
        return kept

    def _charge(self, due: Sequence[DueDelivery]) -> None:
        """Asks the quota service to charge a unit for each of these deliveries, and begins those that got one.
        Deliveries for which no unit is left are marked as skipped. Those for which quota did not answer stay due.
        """
        has_unit: dict[str, bool] = {}
        try:
            has_unit = attempt.charge(self._quota, due)
            refused = [one for one in due if has_unit.get(one.id) is False]
            if refused:
                with self._database.reading() as connection:
                    EndpointQueues(connection).skip(refused)
        finally:
            with self._lock:
                for one in due:
                    queue = self.queues.get(one.subscription_id)
                    if queue is not None and not has_unit.get(one.id) and queue.loaded.get(one.id) is one:
                        del queue.loaded[one.id]
                        if one.id not in has_unit:
                            queue.paused_until = time.monotonic() + _QUOTA_PAUSE_SECONDS
                self._begin([one for one in due if has_unit.get(one.id)])

    def _begin(self, due: Collection[DueDelivery]) -> None:
        """Adds these deliveries to those that wait for an attempt; no unit has to be charged for them any more. Then
        begins attempts while there are free slots; the queue that was least recently used comes first.
        """
        for one in due:
            queue = self.queues.get(one.subscription_id)
            if queue is None or not queue.make_ready(one):
                self._remember_charged([one])
        waiting = [queue for queue in self.queues.values() if queue.ready]
        for queue in sorted(waiting, key=lambda queue: queue.used_at):
            while self._attempts.free > 0 and (following := self._next(queue)) is not None:
                self._attempts.start(partial(self._deliver, queue, following))

    def _clear(self, queue: EndpointQueue) -> None:
        self._remember_charged(queue.clear())

    def _remember_charged(self, due: Collection[DueDelivery]) -> None:
        """Of these deliveries, remembers those whose unit was charged although their rows do not say so yet. The next
        tick stores the charge in the rows, so that a later attempt does not charge again.
        """
        self._dropped = [*self._dropped, *(one for one in due if attempt.needs_unit(one))]

    def _note_dropped(self, store: EndpointQueues) -> None:
        dropped = self._dropped
        if dropped:
            with suppress(ApiError):  # tried again at the next tick
                store.note_charges(dropped)
                with self._lock:
                    self._dropped = [one for one in self._dropped if one not in dropped]

    def _most(self) -> int:
        """Returns how many deliveries one queue may have loaded. The more queues there are, the fewer deliveries each
        may load, so that memory stays limited.
        """
        share = min(self._settings.taken_ahead, _MAX_LOADED // max(1, len(self.queues)))
        return max(2 * MAX_CONCURRENT, share)

    def _next(self, queue: EndpointQueue) -> DueDelivery | None:
        return None if self.is_closing else queue.begin(self._attempts.free)

    def _deliver(self, queue: EndpointQueue, due: DueDelivery) -> None:
        """Makes the attempt at this delivery and then at further deliveries of its queue, over one connection."""
        with self._lock:
            connection = queue.connections.pop() if queue.connections else self._connection(due.account_id)
        following: DueDelivery | None = due
        try:
            while following is not None:
                with metrics.delivering(following):
                    self._attempt(queue, connection, following)
                if queue.has_more and queue.wanted(self._most()) > 0:
                    DELIVERIES_DUE.wake()
                with self._lock:
                    following = None if self._must_yield(queue) else self._next(queue)
        finally:
            with self._lock:
                queue.connections.append(connection)
                if self._must_yield(queue):
                    DELIVERIES_DUE.wake()
            if self.queues.get(queue.id) is not queue:
                _close_connections(queue)

    def _connection(self, account_id: str) -> WebhookConnection:
        return WebhookConnection(self._settings.private_receivers.of(account_id), self._resolve)

    def _attempt(self, queue: EndpointQueue, connection: WebhookConnection, due: DueDelivery) -> None:
        settings = self._settings
        outcome = attempt.send(queue, connection, due, settings.timeout_seconds, settings.retry_seconds)
        with self._lock:
            outcome = queue.assess(outcome)
        if outcome.is_local and due.overdue_seconds < MAX_POSTPONED_SECONDS:
            self._postpone(queue, due, outcome)
            return
        recorded: Recorded | None = None
        try:
            recorded = queue.outcomes.submit(outcome)
        except ApiError as error:
            log.warning("attempt_not_written", delivery_id=due.id, reason=error.message)
        finally:
            with self._lock:
                queue.end(due)
                if recorded is None:
                    self._remember_charged([due])
                    self._lose(queue)
                else:
                    self._remember_charged(queue.note(outcome, recorded))
        if recorded is not None and recorded.state is not None:
            metrics.note_attempt(due, outcome, recorded.state, time.monotonic() - queue.loaded_at)
            if recorded.disabled_reason is not None:
                ENDPOINTS_DISABLED.wake()

    def _postpone(self, queue: EndpointQueue, due: DueDelivery, outcome: Outcome) -> None:
        """Ends an attempt whose failure says nothing about its receiver: the delivery stays due, and its endpoint is
        paused.
        """
        metrics.note_attempt(due, outcome, "put_off", 0.0)
        with self._lock:
            if queue.paused_until < queue.unreachable_since:
                log.warning("attempts_put_off", webhook_id=queue.id, reason=outcome.error)
            self._remember_charged([due, *queue.postpone()])
            queue.end(due)

    def _must_yield(self, queue: EndpointQueue) -> bool:
        """Whether this queue must give up its slot: all slots are taken, and another queue with waiting deliveries has
        no slot.
        """
        return self._attempts.free < 1 and any(
            one.ready and not one.in_flight for one in self.queues.values() if one is not queue
        )

    def _set_aside(self, queues: Collection[EndpointQueue]) -> list[EndpointQueue]:
        with self._lock:
            return [queue for queue in queues if self.queues.pop(queue.id, None) is not None]

    def _release(self, store: EndpointQueues, queues: Sequence[EndpointQueue]) -> None:
        if queues:
            store.renew(_fences(queues), None)
        for queue in queues:
            _close_connections(queue)

    def _lose(self, queue: EndpointQueue) -> None:
        """Removes from memory a queue whose lease another process has, or may soon have."""
        with self._lock:
            self._clear(queue)
            queue.valid_until = 0.0
            if self.queues.get(queue.id) is queue:
                del self.queues[queue.id]

    def _valid_until(self) -> float:
        """Returns the time (by `time.monotonic`) until which a lease that is requested now holds for certain."""
        return time.monotonic() + self._settings.lease_seconds - _MARGIN_SECONDS


def _fences(queues: Collection[EndpointQueue]) -> dict[str, int]:
    return {queue.id: queue.fence for queue in queues}


def _close_connections(queue: EndpointQueue) -> None:
    while queue.connections:
        queue.connections.pop().close()
