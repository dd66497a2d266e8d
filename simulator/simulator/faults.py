"""Stores the faults that tests plan, and decides which call to which platform fails. Each platform's module builds its
own error answers.
"""

import itertools
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from flask import request

from simulator import connection, trickle
from simulator.latency import Latencies

T = TypeVar("T")

SOCIAL_OPERATIONS = (
    "publish", "upload", "status", "comment", "comments", "reply", "engagement", "profile", "token",
)  # fmt: skip
#: Operations of the AI providers (`status` too, which polls a video) and of Stripe.
OPERATIONS = (*SOCIAL_OPERATIONS, "image", "edit", "video", "caption", "download", "payment")
MODES = (
    "reject", "rate_limit", "server_error", "hang", "drop_after_accept", "expired", "slow", "trickle",
)  # fmt: skip
#: What `trickle` slows down: sending the answer, or reading the request's body.
SIDES = ("answer", "body")
#: The operation under which faults of the side "body" are stored: a call's own operation is only known after its body.
_BODY = "body"
#: Modes in which the platform answers with an error and does nothing.
REFUSALS = ("reject", "rate_limit", "server_error", "expired")


@dataclass(slots=True)
class Fault:
    """A planned fault. `times` is the number of calls that it will still affect.

    A fault for the operation `any` is stored as one `Fault` for each operation, all with the same id.
    """

    fault_id: str
    platform: str
    operation: str
    mode: str
    times: int
    account_id: str | None
    #: Delay of `slow` in seconds; None: the simulator's default.
    seconds: float | None = None
    #: The rate of `trickle`, and one of `SIDES`.
    bytes_per_second: float | None = None
    side: str | None = None


class Planned(str):
    """What happens to one call: the string is the mode of a planned fault, and `seconds` is the delay.

    A call without a fault has the mode `late`: it is delayed by `seconds` and then handled as usual.
    """

    __slots__ = ("bytes_per_second", "seconds")

    def __new__(cls, mode: str, seconds: float = 0.0, bytes_per_second: float | None = None) -> "Planned":
        planned = super().__new__(cls, mode)
        planned.seconds, planned.bytes_per_second = seconds, bytes_per_second
        return planned

    seconds: float
    bytes_per_second: float | None


class Faults:
    """The planned faults, in their order. A fault affects only calls of the operation for which it was planned."""

    def __init__(self, hang_seconds: float, slow_seconds: float, latencies: Latencies) -> None:
        """Takes the delays of calls, in seconds, and starts without faults.

        A call with the mode `slow` is delayed by the seconds that its fault names, or else by `slow_seconds`. Any other
        call, with or without a fault, is delayed by a latency from `latencies`. After that, a call with the mode `hang`
        gets no answer for `hang_seconds`.
        """
        self._latencies = latencies
        self._lock = threading.Lock()
        self._rows: list[Fault] = []
        self._numbers = itertools.count(1)
        self._hang_seconds = hang_seconds
        self._slow_seconds = slow_seconds
        self._released = threading.Event()

    def add(
        self,
        platform: str,
        operation: str,
        mode: str,
        times: int,
        account_id: str | None,
        *,
        seconds: float | None = None,
        bytes_per_second: float | None = None,
        side: str | None = None,
    ) -> str:
        """Plans a fault for the next `times` calls and returns its id. Without `account_id`, calls of all accounts are
        affected.

        `seconds` is the delay of the mode `slow`, `bytes_per_second` the rate of the mode `trickle`. `side` says what
        `trickle` slows down: the answer or the request's body. With `side` "body", `operation` is ignored, because the
        operation of a call is only known after its body has been read.
        """
        with self._lock:
            fault_id = f"flt_{next(self._numbers)}"
            operations = (_BODY,) if side == "body" else OPERATIONS if operation == "any" else (operation,)
            for one in operations:
                row = Fault(fault_id, platform, one, mode, times, account_id, seconds, bytes_per_second, side)
                self._rows.append(row)
        return fault_id

    def rows(self) -> list[Fault]:
        """Returns the faults that still have calls to affect."""
        with self._lock:
            return list(self._rows)

    def clear(self) -> None:
        """Deletes all faults. Calls that wait because of a fault or a latency stop waiting."""
        with self._lock:
            self._rows.clear()
            self._released.set()
            self._released = threading.Event()

    def take(self, platform: str, operation: str, account_id: str | None) -> Planned | None:
        """Returns what happens to a call, and counts the call for the fault that affects it.

        The first planned fault that matches the call affects it: the result has the mode and the delay of this fault.
        If no fault matches, the mode is `late`, and the delay is the platform's latency. Returns None if there is no
        latency either.
        """
        fault = self._next(platform, operation, account_id)
        late = self._latencies.of_call(platform, operation, request.content_length or 0)
        if fault is None:
            return Planned("late", late) if late else None
        if fault.mode == "slow":
            late = self._slow_seconds if fault.seconds is None else fault.seconds
        return Planned(fault.mode, late, fault.bytes_per_second)

    def read_slowly(self, platform: str, account_id: str | None) -> None:
        """Makes the application read this request's body slowly, if a fault that demands this is planned for the
        account. Call it before the body is read.
        """
        fault = self._next(platform, _BODY, account_id) if request.content_length else None
        if fault is not None and fault.bytes_per_second is not None:
            trickle.drip_body(fault.bytes_per_second)

    def _next(self, platform: str, operation: str, account_id: str | None) -> Fault | None:
        if not self._rows:
            return None
        with self._lock:
            for fault in self._rows:
                if (fault.platform, fault.operation) == (platform, operation) and fault.account_id in (
                    None,
                    account_id,
                ):
                    fault.times -= 1
                    if not fault.times:
                        self._rows.remove(fault)
                    return fault
        return None

    def play(self, mode: Planned | None, refuse: Callable[[str], Exception], act: Callable[[], T]) -> T:
        """Carries out `mode`, a result of `take`: waits for its delay, then runs `act` and returns its answer. If
        `mode` is None, only runs `act`.

        Some modes make the call fail. A mode in `REFUSALS` raises the error that `refuse(mode)` returns, without
        running `act`. `hang` raises ConnectionDropped after a long silence, also without running `act`.
        `drop_after_accept` runs `act` first, then raises ConnectionDropped. `trickle` sends the answer slowly.
        """
        if mode is None:
            return act()
        self._released.wait(mode.seconds)
        if mode in REFUSALS:
            raise refuse(mode)
        if mode == "hang":
            connection.hang(request.environ, self._released, self._hang_seconds)
        answer = act()
        if mode == "trickle" and mode.bytes_per_second is not None:
            trickle.drip_answer(mode.bytes_per_second)
        if mode == "drop_after_accept":
            connection.drop(request.environ)
        return answer
