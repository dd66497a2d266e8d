"""The way to quota: requests that come at the same moment are admitted in one call.

One call is on its way at a time, and those who come meanwhile go together in the next: no timer, and a lone
request leaves at once. Each gets its own verdict. Answers are handed out in the bus's I/O thread.

A request that quota defers, because another transaction holds its account's counters, asks again in the second of two
queues, together with what comes for the same account: there it waits for nobody but other deferred requests, and the
others do not wait for it.
"""

import threading
import time
from collections import Counter
from functools import partial
from typing import Any

from chassis.bus.pending import unavailable
from chassis.telemetry import tracing
from contracts.caller import Caller
from contracts.errors import ApiError
from contracts.quota import Admitted, Arrival, Arrivals

#: Requests in one call: its message stays small. Our choice.
MOST_TOGETHER = 128
#: How long quota may think about one call before the next is sent. Our choice: half a request's deadline.
_FLIGHT_SECONDS = 5.0
#: How long a request is asked for again while quota defers it; quota holds a row for about a millisecond. Our choice.
DEFER_SECONDS = 1.0
_GATEWAY = Caller(account_id="", user_id="gateway")


class _Queue:
    """Requests that wait, and the call that is on its way with those before them."""

    __slots__ = ("_accounts", "flight", "waiting")

    def __init__(self) -> None:
        self.waiting: list[PendingAdmission] = []
        self.flight: list[PendingAdmission] | None = None
        #: Requests of each account that wait or whose call is on its way.
        self._accounts: Counter[str] = Counter()

    def has(self, account_id: str) -> bool:
        return account_id in self._accounts

    def note(self, ticket: "PendingAdmission") -> None:
        """Counts a request that waits here from now on."""
        self._accounts[ticket.account_id] += 1

    def forget(self, ticket: "PendingAdmission") -> None:
        """Counts it no more: it left before its call, or its call has come back."""
        self._accounts[ticket.account_id] -= 1
        if not self._accounts[ticket.account_id]:
            del self._accounts[ticket.account_id]


class PendingAdmission:
    """A request's place at the door; `result()` waits for its verdict."""

    __slots__ = (
        *("_admitted", "_deadline", "_done", "_door", "_error"),
        *("arrival", "cause", "defer_until", "flight", "has_left", "queue"),
    )

    def __init__(self, door: "AdmissionBatcher", arrival: Arrival, deadline: float) -> None:
        self.arrival = arrival
        self.cause = tracing.traceparent()
        self.flight: object = None
        self.queue: _Queue | None = None
        #: When quota deferring it ends in an error; set at the first time.
        self.defer_until: float | None = None
        self.has_left = False
        self._door = door
        self._deadline = deadline
        self._done = threading.Lock()
        self._done.acquire()
        self._admitted: Admitted | None = None
        self._error: ApiError | None = None

    @property
    def account_id(self) -> str:
        return self.arrival.caller.account_id

    def settle(self, admitted: Admitted | None, error: ApiError | None = None) -> None:
        self._admitted, self._error = admitted, error
        self._done.release()

    def result(self) -> Admitted:
        """Raises ApiError SERVICE_UNAVAILABLE when there is no verdict in time."""
        if not self._done.acquire(timeout=max(self._deadline - time.monotonic(), 0)):
            self._door.leave(self)
            raise unavailable("quota did not answer in time")
        if self._admitted is None:
            assert self._error is not None
            raise self._error
        return self._admitted


class AdmissionBatcher:
    """One per process. `admit_all` is quota's method of that name."""

    def __init__(self, admit_all: Any) -> None:
        self._admit_all = admit_all
        self._lock = threading.Lock()
        self._prompt = _Queue()
        self._deferred = _Queue()

    def enter(self, caller: Caller, meter: str, timeout_seconds: float) -> PendingAdmission:
        """Asks for admission. `meter`: see contracts.quota.Arrival."""
        ticket = PendingAdmission(
            self, Arrival(caller=caller, meter=meter), time.monotonic() + timeout_seconds
        )
        with self._lock:
            queue = self._deferred if self._deferred.has(ticket.account_id) else self._prompt
            ticket.queue = queue
            queue.note(ticket)
            queue.waiting.append(ticket)
            flight = self._take_off(queue) if queue.flight is None else None
        self._send(queue, flight)
        return ticket

    def leave(self, ticket: PendingAdmission) -> None:
        """The ticket's time is up: it waits no longer, nor do others wait for its call to come back."""
        with self._lock:
            ticket.has_left = True
            queue, flight = ticket.queue, ticket.flight
            assert queue is not None
            if ticket in queue.waiting:
                queue.waiting.remove(ticket)
                queue.forget(ticket)
        if flight is not None:
            self._next(queue, flight)

    def _take_off(self, queue: _Queue) -> list[PendingAdmission] | None:
        """With the lock held: the requests that wait, as the call that is on its way from now on."""
        flight, queue.waiting = queue.waiting[:MOST_TOGETHER], queue.waiting[MOST_TOGETHER:]
        queue.flight = flight or None
        for ticket in flight:
            ticket.flight = flight
        return queue.flight

    def _send(self, queue: _Queue, flight: list[PendingAdmission] | None) -> None:
        if flight:
            request = Arrivals(arrivals=tuple(ticket.arrival for ticket in flight), may_defer=True)
            landed = partial(self._landed, queue, flight)
            with tracing.on_behalf(flight):
                self._admit_all.start(_GATEWAY, request, timeout_seconds=_FLIGHT_SECONDS, then=landed)

    def _landed(self, queue: _Queue, flight: list[PendingAdmission], answer: Any) -> None:
        deferred = []
        try:
            verdicts = answer.result().verdicts
        except ApiError as error:
            for ticket in flight:
                ticket.settle(None, error)
        else:
            for ticket, verdict in zip(flight, verdicts, strict=True):
                if verdict is not None:
                    ticket.settle(verdict)
                elif ticket.defer_until is None or time.monotonic() < ticket.defer_until:
                    deferred.append(ticket)
                else:
                    ticket.settle(None, unavailable("another transaction holds the account's counters"))
        self._defer(queue, flight, deferred)
        self._next(queue, flight)
        self._next(self._deferred, None)

    def _defer(self, queue: _Queue, flight: list[PendingAdmission], tickets: list[PendingAdmission]) -> None:
        """Puts the deferred requests of a call that has come back in front of the deferred queue, except for those
        that have given up."""
        deferred = self._deferred
        with self._lock:
            for ticket in flight:
                queue.forget(ticket)
            again = [ticket for ticket in tickets if not ticket.has_left]
            for ticket in again:
                deferred.note(ticket)
                ticket.queue, ticket.flight = deferred, None
                ticket.defer_until = ticket.defer_until or time.monotonic() + DEFER_SECONDS
            deferred.waiting = again + deferred.waiting

    def _next(self, queue: _Queue, flight: object) -> None:
        with self._lock:
            following = self._take_off(queue) if queue.flight is flight else None
        self._send(queue, following)
