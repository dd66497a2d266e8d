"""The way to quota: requests that come at the same moment are admitted in one call.

One call is on its way at a time, and those who come meanwhile go together in the next: no timer, and a lone
request leaves at once. Each gets its own verdict. Answers are handed out in the bus's I/O thread.
"""

import threading
import time
from functools import partial
from typing import Any

from chassis.rpc import unavailable
from chassis.telemetry import tracing
from contracts.caller import Caller
from contracts.errors import ApiError
from contracts.quota import Admitted, Arrival, Arrivals

#: Requests in one call: its message stays small. Our choice.
MOST_TOGETHER = 128
#: How long quota may think about one call before the next is sent. Our choice: half a request's deadline.
_FLIGHT_SECONDS = 5.0
_GATEWAY = Caller(account_id="", user_id="gateway")


class Ticket:
    """A request's place at the door; `result()` waits for its verdict."""

    __slots__ = ("_admitted", "_deadline", "_done", "_door", "_error", "arrival", "cause", "flight")

    def __init__(self, door: "Door", arrival: Arrival, deadline: float) -> None:
        self.arrival = arrival
        self.cause = tracing.traceparent()
        self.flight: object = None
        self._door = door
        self._deadline = deadline
        self._done = threading.Lock()
        self._done.acquire()
        self._admitted: Admitted | None = None
        self._error: ApiError | None = None

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


class Door:
    """One per process. `admit_all` is quota's method of that name."""

    def __init__(self, admit_all: Any) -> None:
        self._admit_all = admit_all
        self._lock = threading.Lock()
        self._waiting: list[Ticket] = []
        self._flight: list[Ticket] | None = None

    def enter(self, caller: Caller, meter: str, timeout_seconds: float) -> Ticket:
        """Asks for admission. `meter`: see contracts.quota.Arrival."""
        ticket = Ticket(self, Arrival(caller=caller, meter=meter), time.monotonic() + timeout_seconds)
        with self._lock:
            self._waiting.append(ticket)
            flight = self._take_off() if self._flight is None else None
        self._send(flight)
        return ticket

    def leave(self, ticket: Ticket) -> None:
        """The ticket's time is up: it waits no longer, nor do others wait for its call to come back."""
        with self._lock:
            if ticket in self._waiting:
                self._waiting.remove(ticket)
        if ticket.flight is not None:
            self._next(ticket.flight)

    def _take_off(self) -> list[Ticket] | None:
        """With the lock held: whoever waits, as the call that is on its way from now on."""
        flight, self._waiting = self._waiting[:MOST_TOGETHER], self._waiting[MOST_TOGETHER:]
        self._flight = flight or None
        for ticket in flight:
            ticket.flight = flight
        return self._flight

    def _send(self, flight: list[Ticket] | None) -> None:
        if flight:
            request = Arrivals(arrivals=tuple(ticket.arrival for ticket in flight))
            landed = partial(self._landed, flight)
            with tracing.on_behalf(flight):
                self._admit_all.start(_GATEWAY, request, timeout_seconds=_FLIGHT_SECONDS, then=landed)

    def _landed(self, flight: list[Ticket], answer: Any) -> None:
        try:
            verdicts = answer.result().verdicts
        except ApiError as error:
            for ticket in flight:
                ticket.settle(None, error)
        else:
            for ticket, verdict in zip(flight, verdicts, strict=True):
                ticket.settle(verdict)
        self._next(flight)

    def _next(self, flight: object) -> None:
        with self._lock:
            following = self._take_off() if self._flight is flight else None
        self._send(following)
