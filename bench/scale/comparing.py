"""Times an operation on two sets of databases in turn, and compares the ratio with the highest that is allowed."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Generic, Protocol, TypeVar

from bench.table import Row

#: Runs of each operation on each side, and seconds after which it is not run again: other work on the machine comes in
#: bursts, and a median over both sides in turn does not see them.
ROUNDS, SECONDS = 41, 12.0
#: Warm-up runs, which prepare statements and fill caches.
WARM_UPS = 3
BAR = 1.5


class World(Protocol):
    """One of the two sets of databases."""

    def blocks(self, work: Callable[[], object]) -> int:
        """Returns the number of blocks that PostgreSQL reads while it does this work."""


W = TypeVar("W", bound=World)


def nothing(world: object, number: int) -> None:
    """The preparation of an operation that needs none."""


@dataclass(frozen=True)
class Operation(Generic[W]):
    """A timed operation. `run` is given its number, so that each run works on other rows."""

    name: str
    run: Callable[[W, int], object]
    #: Not timed.
    before: Callable[[W, int], object] = nothing
    after: Callable[[W, int], object] = nothing
    rounds: int = ROUNDS


@dataclass(frozen=True)
class Compared:
    """An operation's times in milliseconds on both sets, and the number of blocks that one run reads."""

    name: str
    small: Sequence[float]
    full: Sequence[float]
    small_blocks: int = 0
    full_blocks: int = 0

    @property
    def ratio(self) -> float:
        return median(self.full) / median(self.small)

    @property
    def row(self) -> Row:
        row = Row.ratio(self.name, median(self.full), median(self.small), at_most=BAR, unit=" ms")
        return row.noting(f"blocks {self.full_blocks:,} / {self.small_blocks:,}")


def compare(
    operation: Operation[W], small: W, full: W, *, clock: Callable[[], float] = time.perf_counter
) -> Compared:
    """Compares an operation on both sets. If it misses its bar, it is measured once more and the lower ratio counts:
    on a busy machine one of forty operations may miss by accident, but hardly twice.
    """
    first = _compare(operation, small, full, clock, 0)
    if first.row.met:
        return first
    again = _compare(operation, small, full, clock, WARM_UPS + operation.rounds + 1)
    return min(first, again, key=lambda found: found.ratio)


def _compare(operation: Operation[W], small: W, full: W, clock: Callable[[], float], first: int) -> Compared:
    """Runs an operation on both sets in turn; each round begins with the other set. The runs are numbered from
    `first`.
    """
    times: dict[int, list[float]] = {id(small): [], id(full): []}
    give_up_at = clock() + SECONDS
    for number in range(first, first + WARM_UPS + operation.rounds):
        if number > first + WARM_UPS and clock() > give_up_at:
            break
        for world in (small, full) if number % 2 else (full, small):
            milliseconds = _timed(operation, world, number, clock)
            if number >= first + WARM_UPS:
                times[id(world)].append(milliseconds)
    blocks = []
    number = first + WARM_UPS + operation.rounds
    for world in (small, full):
        operation.before(world, number)
        blocks.append(world.blocks(lambda world=world: operation.run(world, number)))  # type: ignore[misc]
        operation.after(world, number)
    return Compared(operation.name, times[id(small)], times[id(full)], *blocks)


def _timed(operation: Operation[W], world: W, number: int, clock: Callable[[], float]) -> float:
    operation.before(world, number)
    began = clock()
    operation.run(world, number)
    ended = clock()
    operation.after(world, number)
    return (ended - began) * 1000
