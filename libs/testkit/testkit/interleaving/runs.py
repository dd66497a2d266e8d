"""The record of one run: how each `Try` ended, and what happened in which order."""

import enum
from dataclasses import dataclass, field
from typing import Any


class Killed(BaseException):
    """Raised in a thread of a simulated process when the scheduler kills the process. No code may catch it and
    continue.
    """


class Stuck(AssertionError):
    """Raised when no thread has continued for 20 s. PostgreSQL would have ended any wait for a lock by then."""


class Cut(enum.Enum):
    KILL = "KILLED"
    LOSE = "CONNECTION LOST"


@dataclass(slots=True)
class Ended:
    """How a `Try` ended: with a return value, or with an error (Killed if its process was killed)."""

    value: Any = None
    error: BaseException | None = None

    @property
    def was_killed(self) -> bool:
        return isinstance(self.error, Killed)


@dataclass
class Run:
    """The run with one seed: how each `Try` ended, and a trace of all stops."""

    seed: int
    ended: dict[str, Ended] = field(default_factory=dict)
    #: A line for each time that a thread was resumed, and for each cut.
    trace: list[str] = field(default_factory=list)
    turns: int = 0
    cuts: int = 0
    #: Errors of statements whose wait for a lock PostgreSQL has ended (deadlocks and timeouts).
    lock_errors: list[str] = field(default_factory=list)

    def __getitem__(self, name: str) -> Ended:
        return self.ended[name]

    def __str__(self) -> str:
        ends = [f"{name} ended: {end.error or end.value!r}" for name, end in self.ended.items()]
        return "\n".join([f"seed {self.seed}:", *self.trace, *ends])
