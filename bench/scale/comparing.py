"""Times an operation on both sets of databases in turn, and compares the ratio of the medians with the highest allowed
one.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Generic, Protocol, TypeVar

from bench.table import Row

#: Runs of each operation on each set, and seconds after which no further run begins. Other work on the machine comes
#: in bursts, which do not change a median over both sets in turn.
ROUNDS, SECONDS = 41, 12.0
#: Warm-up runs, which prepare statements and fill caches.
WARM_UPS = 3
BAR = 1.5


class World(Protocol):
    """One of the two sets of databases (small and full), for one service."""

    def blocks(self, work: Callable[[], object]) -> int:
        """Returns the number of blocks that PostgreSQL reads, from memory or disk, for this work."""


W = TypeVar("W", bound=World)


def nothing(world: object, number: int) -> None:
    """Does nothing: the default of `Operation.before` and `.after`."""


@dataclass(frozen=True)
class Operation(Generic[W]):
    """An operation to measure. `run` gets the set of databases and the number of the run, so that each run works on
    other rows. `before` and `after` prepare a run and clean up after it.
    """

    name: str
    run: Callable[[W, int], object]
    #: Called before and after each run, and not timed.
    before: Callable[[W, int], object] = nothing
    after: Callable[[W, int], object] = nothing
    rounds: int = ROUNDS


@dataclass(frozen=True)
class Compared:
    """The times of an operation on both sets in milliseconds, and the number of blocks that one run reads."""

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
    """Measures an operation on both sets. If the ratio is too high, measures it once more and returns the better
    result: on a busy machine one of forty operations may exceed the ratio by accident, but hardly twice.
    """
    first = _compare(operation, small, full, clock, 0)
    if first.row.met:
        return first
    again = _compare(operation, small, full, clock, WARM_UPS + operation.rounds + 1)
    return min(first, again, key=lambda found: found.ratio)


def _compare(operation: Operation[W], small: W, full: W, clock: Callable[[], float], first: int) -> Compared:
    """Runs an operation on both sets in turn; the set that begins changes with each round. The runs are numbered from
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
