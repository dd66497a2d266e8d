"""Planned misbehaviour: which call of which platform goes wrong next. How it is worded is the platform's."""

import itertools
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from flask import request

from simulator import connection

T = TypeVar("T")

SOCIAL_OPERATIONS = (
    "publish", "upload", "status", "comment", "comments", "reply", "engagement", "profile", "token",
)  # fmt: skip
#: The AI providers' (they have `status` too, for a film on its way), and Stripe's.
OPERATIONS = (*SOCIAL_OPERATIONS, "image", "edit", "video", "caption", "download", "payment")
MODES = ("reject", "rate_limit", "server_error", "hang", "drop_after_accept", "expired", "slow")
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


class Faults:
    """Faults in the order they were planned; each operation uses up its own only."""

    def __init__(self, hang_seconds: float, slow_seconds: float) -> None:
        self._lock = threading.Lock()
        self._rows: list[Fault] = []
        self._numbers = itertools.count(1)
        self._hang_seconds = hang_seconds
        self._slow_seconds = slow_seconds
        self._released = threading.Event()

    def add(self, platform: str, operation: str, mode: str, times: int, account_id: str | None) -> str:
        """Plan a fault and return its id."""
        with self._lock:
            fault_id = f"flt_{next(self._numbers)}"
            for one in OPERATIONS if operation == "any" else (operation,):
                self._rows.append(Fault(fault_id, platform, one, mode, times, account_id))
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

    def take(self, platform: str, operation: str, account_id: str | None) -> str | None:
        """Use up one time of the first fault that fits; its mode, or None."""
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
                    return fault.mode
        return None

    def play(self, mode: str | None, refuse: Callable[[str], Exception], act: Callable[[], T]) -> T:
        """Run `act` as the mode has it. Raises what `refuse` makes of a refusal."""
        if mode is None:
            return act()
        if mode in REFUSALS:
            raise refuse(mode)
        if mode == "hang":
            connection.hang(request.environ, self._released, self._hang_seconds)
        if mode == "slow":
            time.sleep(self._slow_seconds)
        answer = act()
        if mode == "drop_after_accept":
            connection.drop(request.environ)
        return answer
