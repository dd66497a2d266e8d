"""Asks the service `quota` to admit requests, in batches: requests that arrive at the same moment share one call.

One batch at a time waits for an answer; requests that arrive meanwhile form the next batch. There is no timer: a
request that arrives alone is sent at once. Each request gets its own verdict: admitted, or the error of a limit.
Answers are handled in the bus's I/O thread.

The service defers a request when another transaction has locked the account's counters. Deferred requests, and later
ones of the same account, wait in a second queue, so that other accounts do not wait for them.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable
from functools import partial

from chassis.bus.clients import Pending, remote
from chassis.bus.pending import unavailable
from chassis.telemetry import tracing
from contracts.caller import Caller
from contracts.errors import ApiError
from contracts.quota import Admitted, Arrival, Arrivals, Verdicts

#: Requests in one batch: a few tens of kilobytes in one message.
MAX_BATCH = 128
#: How long the service `quota` has for one batch before the next is sent. Our choice: half a request's deadline.
_BATCH_SECONDS = 5.0
#: How long we ask again about a deferred request. The service `quota` normally locks a row for about a millisecond.
DEFER_SECONDS = 1.0
_GATEWAY = Caller(account_id="", user_id="gateway")


class _Queue:
    """Requests that wait for the next batch, and the batch that waits for an answer of the service `quota`."""

    __slots__ = ("_accounts", "batch", "waiting")

    def __init__(self) -> None:
        self.waiting: list[PendingAdmission] = []
        self.batch: list[PendingAdmission] | None = None
        #: How many requests of each account wait or are on their way.
        self._accounts: Counter[str] = Counter()

    def has(self, account_id: str) -> bool:
        return account_id in self._accounts

    def note(self, pending: "PendingAdmission") -> None:
        self._accounts[pending.account_id] += 1

    def forget(self, pending: "PendingAdmission") -> None:
        self._accounts[pending.account_id] -= 1
        if not self._accounts[pending.account_id]:
            del self._accounts[pending.account_id]


class PendingAdmission:
    """A request that waits until the service `quota` has admitted or refused it."""

    __slots__ = (
        *("_admitted", "_batcher", "_deadline", "_done", "_error"),
        *("arrival", "batch", "cause", "defer_until", "has_left", "queue"),
    )

    def __init__(self, batcher: "AdmissionBatcher", arrival: Arrival, deadline: float) -> None:
        self.arrival = arrival
        self.cause = tracing.traceparent()
        self.batch: object = None
        self.queue: _Queue | None = None
        #: When a deferred request fails; set when it is deferred for the first time.
        self.defer_until: float | None = None
        self.has_left = False
        self._batcher = batcher
        self._deadline = deadline
        self._done = threading.Lock()
        self._done.acquire()
        self._admitted: Admitted | None = None
        self._error: ApiError | None = None

    @property
    def account_id(self) -> str:
        return self.arrival.caller.account_id

    def finish(self, admitted: Admitted | None, error: ApiError | None = None) -> None:
        self._admitted, self._error = admitted, error
        self._done.release()

    def result(self) -> Admitted:
        """Waits for the verdict, which may be a refusal. Raises SERVICE_UNAVAILABLE if none comes in time, and the
        errors of the call."""
        if not self._done.acquire(timeout=max(self._deadline - time.monotonic(), 0)):
            self._batcher.leave(self)
            raise unavailable("quota did not answer in time")
        if self._admitted is None:
            assert self._error is not None
            raise self._error
        return self._admitted


class AdmissionBatcher:
    """Asks the service `quota`, in batches, whether requests may run. One per process. `admit_all`: the method of the
    service's client."""

    def __init__(self, admit_all: Callable[[Caller, Arrivals], Verdicts]) -> None:
        self._admit_all = remote(admit_all)
        self._lock = threading.Lock()
        self._prompt = _Queue()
        self._deferred = _Queue()

    def submit(self, caller: Caller, meter: str, timeout_seconds: float) -> PendingAdmission:
        """Asks for admission without waiting for the verdict. `meter` is the monthly counter that the request uses."""
        pending = PendingAdmission(
            self, Arrival(caller=caller, meter=meter), time.monotonic() + timeout_seconds
        )
        with self._lock:
            queue = self._deferred if self._deferred.has(pending.account_id) else self._prompt
            pending.queue = queue
            queue.note(pending)
            queue.waiting.append(pending)
            batch = self._take_batch(queue) if queue.batch is None else None
        self._send(queue, batch)
        return pending

    def leave(self, pending: PendingAdmission) -> None:
        """Removes a request whose time is up.

        If the service `quota` has not answered the request's batch yet, the next batch is sent without waiting for that
        answer.
        """
        with self._lock:
            pending.has_left = True
            queue, batch = pending.queue, pending.batch
            assert queue is not None
            if pending in queue.waiting:
                queue.waiting.remove(pending)
                queue.forget(pending)
        if batch is not None:
            self._send_next(queue, batch)

    def _take_batch(self, queue: _Queue) -> list[PendingAdmission] | None:
        """Makes a batch of the queue's waiting requests; None when there are none. The caller holds the lock."""
        batch, queue.waiting = queue.waiting[:MAX_BATCH], queue.waiting[MAX_BATCH:]
        queue.batch = batch or None
        for pending in batch:
            pending.batch = batch
        return queue.batch

    def _send(self, queue: _Queue, batch: list[PendingAdmission] | None) -> None:
        if batch:
            request = Arrivals(arrivals=tuple(pending.arrival for pending in batch), may_defer=True)
            answered = partial(self._answered, queue, batch)
            with tracing.on_behalf(batch):
                self._admit_all.start(_GATEWAY, request, timeout_seconds=_BATCH_SECONDS, then=answered)

    def _answered(self, queue: _Queue, batch: list[PendingAdmission], answer: Pending[Verdicts]) -> None:
        deferred = []
        try:
            verdicts = answer.result().verdicts
        except ApiError as error:
            for pending in batch:
                pending.finish(None, error)
        else:
            for pending, verdict in zip(batch, verdicts, strict=True):
                if verdict is not None:
                    pending.finish(verdict)
                elif pending.defer_until is None or time.monotonic() < pending.defer_until:
                    deferred.append(pending)
                else:
                    pending.finish(None, unavailable("another transaction holds the account's counters"))
        self._defer(queue, batch, deferred)
        self._send_next(queue, batch)
        self._send_next(self._deferred, None)

    def _defer(self, queue: _Queue, batch: list[PendingAdmission], deferred: list[PendingAdmission]) -> None:
        """Puts a batch's deferred requests at the head of the queue of deferred requests.

        Drops those that `leave` has removed, because their time was up.
        """
        with self._lock:
            for pending in batch:
                queue.forget(pending)
            again = [pending for pending in deferred if not pending.has_left]
            for pending in again:
                self._deferred.note(pending)
                pending.queue, pending.batch = self._deferred, None
                pending.defer_until = pending.defer_until or time.monotonic() + DEFER_SECONDS
            self._deferred.waiting = again + self._deferred.waiting

    def _send_next(self, queue: _Queue, batch: object) -> None:
        """Sends the queue's next batch if `batch` is the one that is on its way: it has been answered or given up.

        With None, sends the next batch if none is on its way.
        """
        with self._lock:
            following = self._take_batch(queue) if queue.batch is batch else None
        self._send(queue, following)
