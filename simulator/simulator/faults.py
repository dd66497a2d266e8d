"""Planned misbehaviour: which call of which platform goes wrong next. How it is worded is the platform's."""

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
#: The AI providers' (they have `status` too, for a film on its way), and Stripe's.
OPERATIONS = (*SOCIAL_OPERATIONS, "image", "edit", "video", "caption", "download", "payment")
MODES = (
    "reject", "rate_limit", "server_error", "hang", "drop_after_accept", "expired", "slow", "trickle",
)  # fmt: skip
#: What comes in drops under `trickle`: our answer, or the reading of the request's body.
SIDES = ("answer", "body")
#: Stands for the operation of a body that is read in drops: which one it is shows only once it is read.
_BODY = "body"
#: Modes the platform answers with an error of its own, its state unchanged.
REFUSALS = ("reject", "rate_limit", "server_error", "expired")


@dataclass(slots=True)
class Fault:
    """`times` is what is left of it. One asked for `any` is a row for each operation, under one id."""

    fault_id: str
    platform: str
    operation: str
    mode: str
    times: int
    account_id: str | None
    #: How late `slow` answers; None: the simulator's own figure.
    seconds: float | None = None
    #: How fast `trickle` is, and what of it.
    bytes_per_second: float | None = None
    side: str | None = None


class Planned(str):
    """What a call is to meet: the name of a mode, `late` if it is only slow, and how slow."""

    __slots__ = ("bytes_per_second", "seconds")

    def __new__(cls, mode: str, seconds: float = 0.0, bytes_per_second: float | None = None) -> "Planned":
        planned = super().__new__(cls, mode)
        planned.seconds, planned.bytes_per_second = seconds, bytes_per_second
        return planned

    seconds: float
    bytes_per_second: float | None


class Faults:
    """Faults in the order they were planned; each operation uses up its own only."""

    def __init__(self, hang_seconds: float, slow_seconds: float, latencies: Latencies) -> None:
        """`latencies`: how long every call takes, planned or not."""
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
        """Plan a fault and return its id. Where the body is read in drops the operation does not count."""
        with self._lock:
            fault_id = f"flt_{next(self._numbers)}"
            operations = (_BODY,) if side == "body" else OPERATIONS if operation == "any" else (operation,)
            for one in operations:
                row = Fault(fault_id, platform, one, mode, times, account_id, seconds, bytes_per_second, side)
                self._rows.append(row)
        return fault_id

    def rows(self) -> list[Fault]:
        """What is left."""
        with self._lock:
            return list(self._rows)

    def clear(self) -> None:
        """Drop all faults and let go of the calls that hang at this moment."""
        with self._lock:
            self._rows.clear()
            self._released.set()
            self._released = threading.Event()

    def take(self, platform: str, operation: str, account_id: str | None) -> Planned | None:
        """Use up one time of the first fault that fits; its mode and how slow it is, or None."""
        fault = self._next(platform, operation, account_id)
        late = self._latencies.of_call(platform, operation, request.content_length or 0)
        if fault is None:
            return Planned("late", late) if late else None
        if fault.mode == "slow":
            late = self._slow_seconds if fault.seconds is None else fault.seconds
        return Planned(fault.mode, late, fault.bytes_per_second)

    def read_slowly(self, platform: str, account_id: str | None) -> None:
        """Lets the body of this request be read in drops if that is planned; before any of it is read."""
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
        """Run `act` as the mode has it; the thread of this call alone sleeps. Raises what `refuse` makes of a
        refusal."""
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
