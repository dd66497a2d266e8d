"""The post office: takes lanes in which something is due, takes up their deliveries, keeps attempts going.

Nothing here waits for a whole batch: every attempt that ends makes room for the next one of its endpoint, and every
tick fills up what has room. All lanes with something due are looked at each time, whatever waits in any of them.
"""

import threading
import time
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any, NamedTuple

import structlog

from chassis.db.database import Database
from chassis.http.resolver import Resolve
from chassis.http.webhook_connection import WebhookConnection
from chassis.runtime.loops import wake
from chassis.runtime.pool import Pool
from contracts.errors import ApiError
from webhooks import metrics
from webhooks.config import Settings
from webhooks.dispatch import attempt, charges, rules
from webhooks.dispatch.endpoint_queue import Lane
from webhooks.dispatch.outcome_writer import Scribe
from webhooks.records import Due, Opened, Tried
from webhooks.security.vault import UnreadableSecret, Vault
from webhooks.store.endpoint_queues import Lanes, Looked

log = structlog.get_logger()

#: Our choices. Events that arrive at the same moment are taken up together.
_GATHER_SECONDS = 0.01
#: Lanes and deliveries taken up in one tick, at most.
_LANES_A_TICK, _DELIVERIES_A_TICK = 64, 512
#: Retries whose time has come that are marked in one tick: a statement of some 20 ms.
_READY_A_TICK = 1_000
#: Deliveries taken up in all, from which on lanes get fewer.
_TAKEN_UP = 4_096
#: A lane is kept this long after its last delivery, with its connections.
_LINGER_SECONDS = 3.0
#: Until quota, or a key for the secrets, is asked for again.
_QUOTA_PAUSE_SECONDS, _KEY_PAUSE_SECONDS = 1.0, 30.0
#: How long a process that ends waits for answers; what comes later is sent again by another.
_CLOSING_SECONDS = 6.0
#: Part of a lease in which nothing is begun any more.
_MARGIN_SECONDS = 1.0
_CHARGES_AT_ONCE = 8


class _Load(NamedTuple):
    """What was loaded for a lane, and which of its generations that was."""

    lane: Lane
    generation: int
    due: list[Due]

    def only(self, wanted: Callable[[Due], bool]) -> "_Load":
        return self._replace(due=[one for one in self.due if wanted(one)])

    @property
    def is_late(self) -> bool:
        """Whether it is not taken up any more."""
        return self.generation != self.lane.generation


class Office:
    """One per process."""

    def __init__(
        self,
        database: Database,
        settings: Settings,
        vault: Vault,
        scribe: Scribe,
        quota: Any,
        resolve: Resolve,
    ) -> None:
        self._database = database
        self._settings = settings
        self._vault = vault
        self._scribe = scribe
        self._quota = quota
        self._resolve = resolve
        self._attempts = Pool(settings.attempts_at_once)
        self._charges = Pool(_CHARGES_AT_ONCE)
        self._lock = threading.RLock()
        self._lanes: dict[str, Lane] = {}
        self._is_closing = False

    @property
    def running(self) -> int:
        """Attempts on their way."""
        return self._settings.attempts_at_once - self._attempts.free

    def tick(self) -> int:
        """Takes up what is due and has room; how much that was."""
        if self._is_closing:
            return 0
        time.sleep(_GATHER_SECONDS)
        with self._database.reading() as connection:
            store = Lanes(connection)
            became_ready = store.make_ready(_READY_A_TICK)
            looked = store.look([lane.id for lane in self._lanes.values() if lane.known or lane.is_loading])
            late = [one.id for one in looked if one.has_late]
            if late:
                store.fail_late(late)
            taken = self._take(store, looked)
            self._keep_up(store, looked)
            loads = self._load(store, looked)
        self._take_up(loads)
        return became_ready + len(taken) + sum(len(load.due) for load in loads)

    def renew(self) -> None:
        """Keeps the lanes that are in use, gives back those that are not."""
        idle = self._set_aside([lane for lane in self._lanes.values() if lane.is_idle(_LINGER_SECONDS)])
        with self._database.reading() as connection:
            store = Lanes(connection)
            released = store.release({lane.id: lane.fence for lane in idle}) if idle else set()
            with self._lock:
                self._lanes.update({lane.id: lane for lane in idle if lane.id not in released})
            self._close_lines(lane for lane in idle if lane.id in released)
            fences = {lane.id: lane.fence for lane in self._lanes.values()}
            asked_at = time.monotonic()
            kept = store.renew(fences, self._settings.lease_seconds) if fences else set()
        for lane in list(self._lanes.values()):
            if lane.id in kept:
                lane.valid_until = self._valid_until(asked_at)
            elif lane.id in fences:
                self._lose(lane)

    def is_quiet(self) -> bool:
        """Whether nothing is taken up and nothing on its way."""
        with self._lock:
            return not any(lane.known or lane.is_loading for lane in self._lanes.values())

    def close(self) -> None:
        """Lets attempts end that are on their way, then gives everything back."""
        self._is_closing = True
        self._attempts.wait_idle(_CLOSING_SECONDS)
        with self._lock:
            lanes = self._set_aside(list(self._lanes.values()))
            unbegun = [due for lane in lanes for due in lane.drop()]
        self._note_charged(unbegun)
        if lanes:
            with self._database.reading() as connection:
                Lanes(connection).release({lane.id: lane.fence for lane in lanes}, is_leaving=True)
        self._close_lines(lanes)

    def _take(self, store: Lanes, looked: Collection[Looked]) -> dict[str, int]:
        free = [one.id for one in looked if one.is_due and not one.is_held and not one.is_deleted]
        free = [lane_id for lane_id in free if lane_id not in self._lanes][:_LANES_A_TICK]
        asked_at = time.monotonic()
        fences = store.take(free, self._settings.lease_seconds) if free else {}
        with self._lock:
            for lane_id, fence in fences.items():
                self._lanes[lane_id] = Lane(lane_id, fence, self._valid_until(asked_at))
        return fences

    def _keep_up(self, store: Lanes, looked: Collection[Looked]) -> None:
        """Learns what its subscriptions are now, where that has changed."""
        versions = {one.id: one.version for one in looked}
        with self._lock:
            for one in looked:
                if one.is_deleted and one.id in self._lanes:
                    self._lanes[one.id].drop()
            stale = [lane.id for lane in self._lanes.values() if lane.is_stale(versions.get(lane.id))]
        if not stale:
            return
        for opened in store.open(stale):
            with self._lock:
                lane = self._lanes.get(opened.id)
                if lane is not None:
                    self._set_up(lane, opened)

    def _set_up(self, lane: Lane, opened: Opened) -> None:
        """With the secrets that can be read. Without the newest nothing goes out: that is the one to verify with."""
        secrets = [self._decrypted(lane, secret) for secret in opened.secrets]
        if secrets and secrets[0] is None:
            lane.drop()
            lane.unreadable, lane.held_until = opened.version, time.monotonic() + _KEY_PAUSE_SECONDS
        else:
            lane.set_up(opened, [secret for secret in secrets if secret is not None])

    def _decrypted(self, lane: Lane, secret: str) -> str | None:
        try:
            return self._vault.decrypt(secret)
        except UnreadableSecret:
            log.error("webhook_secret_unreadable", webhook_id=lane.id)
            return None

    def _load(self, store: Lanes, looked: Collection[Looked]) -> list[_Load]:
        with self._lock:
            due = [self._lanes[one.id] for one in looked if one.is_due and one.id in self._lanes]
            wanting = {lane: lane.wants(self._most()) for lane in due if lane.version is not None}
            for lane, count in wanting.items():
                lane.has_more = lane.has_more or count == 0
            chosen = sorted((lane for lane in wanting if wanting[lane]), key=lambda lane: lane.loaded_at)
            chosen = chosen[:_LANES_A_TICK]
            share = max(4, _DELIVERIES_A_TICK // max(1, len(chosen)))
            limits = {lane.id: min(wanting[lane], share) for lane in chosen}
            known = [delivery_id for lane in chosen for delivery_id in lane.known]
            loads = {lane.id: _Load(lane, lane.generation, []) for lane in chosen}
            for lane in chosen:
                lane.is_loading, lane.loaded_at = True, time.monotonic()
        if not limits:
            return []
        try:
            for one in store.load(limits, known):
                loads[one.subscription_id].due.append(one)
        finally:
            with self._lock:
                for load in loads.values():
                    load.lane.is_loading = False
                    load.lane.has_more = len(load.due) >= limits[load.lane.id]
        return list(loads.values())

    def _take_up(self, loads: Sequence[_Load]) -> None:
        """Begins with what has its unit; the rest asks for one first."""
        self._begin([load.only(lambda one: not one.is_counted) for load in loads])
        counted = [load.only(lambda one: one.is_counted) for load in loads]
        counted = [load for load in counted if load.due]
        if counted:
            with self._lock:
                for load in counted:
                    load.lane.is_loading = True
            self._charges.start(partial(self._charge, counted))

    def _charge(self, loads: Sequence[_Load]) -> None:
        """A unit of the month for each. quota away: they stay where they are, and are taken up again soon."""
        has_unit: dict[str, bool] = {}
        due = [one for load in loads for one in load.due]
        try:
            has_unit = charges.charge(self._quota, due)
            refused = [(one.subscription_id, one.id) for one in due if has_unit.get(one.id) is False]
            if refused:
                with self._database.transaction() as connection:
                    Lanes(connection).skip(refused)
        finally:
            with self._lock:
                ready = [load.only(lambda one: has_unit.get(one.id, False)) for load in loads]
                unbegun = [one for load in ready if load.is_late for one in load.due]
                self._begin(ready)
                for load in loads:
                    load.lane.is_loading = False
                    if any(one.id not in has_unit for one in load.due):
                        load.lane.held_until = time.monotonic() + _QUOTA_PAUSE_SECONDS
        self._note_charged(unbegun)

    def _note_charged(self, unbegun: Collection[Due]) -> None:
        """These do not go out now: quota remembers their units for days, a replay may come weeks later."""
        charged = [(one.subscription_id, one.id) for one in unbegun if one.is_counted]
        if charged:
            with self._database.transaction() as connection:
                Lanes(connection).note_charged(charged)

    def _begin(self, loads: Collection[_Load]) -> None:
        with self._lock:
            for load in loads:
                load.lane.take_up(load.due, load.generation)
            waiting = [lane for lane in self._lanes.values() if lane.ready]
            for lane in sorted(waiting, key=lambda lane: lane.used_at):
                while self._attempts.free > 0 and (one := self._next(lane)) is not None:
                    self._attempts.start(partial(self._attempt, lane, one))

    def _most(self) -> int:
        """Deliveries that one lane may have taken up; fewer when there are many lanes, for the sake of memory."""
        return max(
            2 * rules.MAX_AT_ONCE, min(self._settings.taken_ahead, _TAKEN_UP // max(1, len(self._lanes)))
        )

    def _next(self, lane: Lane) -> Due | None:
        return None if self._is_closing else lane.begin(self._attempts.free)

    def _attempt(self, lane: Lane, due: Due) -> None:
        """Tries this delivery and then others of its lane, over one connection, as long as there are any."""
        with self._lock:
            line = lane.lines.pop() if lane.lines else self._line(due.account_id)
        following: Due | None = due
        try:
            while following is not None:
                with metrics.delivering(following):
                    following = self._attempt_one(lane, line, following)
        finally:
            with self._lock:
                lane.lines.append(line)
                if self._is_awaited(lane):
                    wake("deliver_events")
            if self._lanes.get(lane.id) is not lane:
                self._close_lines([lane])

    def _line(self, account_id: str) -> WebhookConnection:
        return WebhookConnection(self._settings.private_receivers.of(account_id), self._resolve)

    def _attempt_one(self, lane: Lane, line: WebhookConnection, due: Due) -> Due | None:
        tried = attempt.send(lane, line, due, self._settings.timeout_seconds)
        with self._lock:
            tried = lane.weigh(tried)
        if tried.is_ours and due.overdue_seconds < rules.OUR_PATIENCE_SECONDS:
            self._put_off(lane, due, tried)
            return None
        is_written, unbegun = False, list[Due]()
        try:
            with self._lock:
                entry = lane.judge(due, tried, self._settings.retry_seconds)
                verdict = entry.verdict
                if verdict.standing.disabled_reason is not None:
                    unbegun = lane.drop()
            is_written = self._scribe.write(entry)
        except ApiError as error:
            log.warning("attempt_not_written", delivery_id=due.id, reason=error.message)
        finally:
            with self._lock:
                lane.end(due)
                if not is_written:
                    self._lose(lane)
        if is_written:
            metrics.note_attempt(due, tried, verdict.state, time.monotonic() - lane.loaded_at)
        if is_written and verdict.standing.disabled_reason is not None:
            self._note_charged(unbegun)
            wake("end_deliveries")
        if lane.is_hungry(self._most()):
            wake("deliver_events")
        with self._lock:
            return None if self._is_awaited(lane) else self._next(lane)

    def _put_off(self, lane: Lane, due: Due, tried: Tried) -> None:
        """Nothing was wrong with the receiver: all of its lane stays due, and is taken up again soon."""
        metrics.note_attempt(due, tried, "put_off", 0.0)
        with self._lock:
            is_first = lane.held_until < lane.wanting_since
            lane.put_off()
            unbegun = [due, *lane.drop()]
            lane.end(due)
        if is_first:
            log.warning("attempts_put_off", webhook_id=lane.id, reason=tried.error)
        self._note_charged(unbegun)

    def _is_awaited(self, lane: Lane) -> bool:
        """Whether all places are taken and another lane waits for one."""
        return self._attempts.free < 1 and any(
            one.ready and not one.running for one in self._lanes.values() if one is not lane
        )

    def _set_aside(self, lanes: Collection[Lane]) -> list[Lane]:
        with self._lock:
            return [lane for lane in lanes if self._lanes.pop(lane.id, None) is not None]

    def _lose(self, lane: Lane) -> None:
        """Somebody else has it, or may have it soon."""
        with self._lock:
            lane.drop()
            lane.valid_until = 0.0
            if self._lanes.get(lane.id) is lane:
                del self._lanes[lane.id]

    def _close_lines(self, lanes: Any) -> None:
        for lane in lanes:
            while lane.lines:
                lane.lines.pop().close()

    def _valid_until(self, asked_at: float) -> float:
        return asked_at + self._settings.lease_seconds - _MARGIN_SECONDS
