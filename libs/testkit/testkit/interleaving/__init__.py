"""Tests concurrent code: runs several pieces of work side by side on one PostgreSQL, and cuts them at any point.

A seed chooses the order of their statements. Each piece of work (`Try`) runs in a thread of its own and belongs to a
simulated process (`Process`), which has its own connections. A thread stops before each statement, after each answer,
and around each call that `Process.outside` wraps. The scheduler lets one thread at a time continue to its next stop. It
passes over a thread that waits for a lock in PostgreSQL or for another thread, until that thread runs again. At a stop
the scheduler may cut the thread in one of two ways:

- KILL: the process ends there. Its open transaction is rolled back, its threads raise `Killed`, which no
  `except Exception` catches, and nothing that they still do in `finally` reaches the database or the outside. A process
  that is killed after a COMMIT has committed and does not know it.
- LOSE: the connection breaks there, before the statement or after its effect, and the code continues with the error.

    with Interleaver(url) as interleaver:
        first, second = interleaver.process("first"), interleaver.process("second")
        def example(seed):
            run = interleaver.run(seed, Try("first", first, ...), Try("second", second, ...))
            assert ...
        explore(interleaver, range(200), example)

A seed gives the same order in each run if each process has only one running thread, and if the order in which rows are
locked does not depend on random ids.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from types import TracebackType

from chassis.db.database import Database
from testkit.interleaving.processes import Process, Try
from testkit.interleaving.runs import Cut, Ended, Killed, Run, Stuck
from testkit.interleaving.scheduler import RunScheduler

__all__ = ["Cut", "Ended", "Interleaver", "Killed", "Process", "Run", "Stuck", "Try", "explore"]

_BLOCKED = "SELECT pid FROM unnest(%s) AS pid WHERE cardinality(pg_blocking_pids(pid)) > 0"


class Interleaver:
    """Owns the simulated processes of a test, and runs `Try` objects in them."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._processes: dict[str, Process] = {}
        self._watching = Database(url, pool_size=1)
        self.last: Run | None = None

    def __enter__(self) -> "Interleaver":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self._processes.values():
            process.close()
        self._watching.close()

    def process(self, name: str) -> Process:
        """Returns the simulated process with this name, and creates it at the first call. Its connections stay open
        between runs.
        """
        if name not in self._processes:
            self._processes[name] = Process(name, self._url)
        return self._processes[name]

    def run(self, seed: int, *tries: Try, most_cuts: int = 1, allows_lock_errors: bool = False) -> Run:
        """Runs the tries side by side, statement by statement in an order that the seed chooses, until all have ended.

        Cuts threads at most `most_cuts` times. Afterwards all processes are alive again. Raises Stuck if no thread can
        continue, and AssertionError if PostgreSQL ended a wait for a lock, unless `allows_lock_errors` is set.
        """
        run = self.last = Run(seed)
        scheduler = RunScheduler(run, tries, most_cuts, self._blocked)
        processes = {one.process for one in tries}
        for process in processes:
            process.revive(scheduler)
        try:
            scheduler.go()
        finally:
            scheduler.end()
            for process in processes:
                process.revive(None)
        assert allows_lock_errors or not run.lock_errors, "\n".join(run.lock_errors)
        return run

    def _blocked(self, pids: list[int]) -> set[int]:
        with self._watching.reading() as connection:
            return {row[0] for row in connection.exec_driver_sql(_BLOCKED, (pids,))}


def explore(interleaver: Interleaver, seeds: Iterable[int], example: Callable[[int], None]) -> Counter[str]:
    """Runs `example(seed)` for each seed, each time with another order of the threads' statements.

    Returns three counts: `runs`, `turned` (runs in which the scheduler switched threads) and `cut` (runs in which it
    cut a thread).

    If runs failed, raises AssertionError with the number of failures for each message, and with the trace of the
    failed run that has the fewest cuts and switches.
    """
    counts: Counter[str] = Counter()
    failures: list[tuple[int, int, int, str, str]] = []
    for seed in seeds:
        problem = None
        try:
            example(seed)
        except AssertionError as error:
            problem = str(error)
        run = interleaver.last
        assert run is not None, "the example runs nothing"
        counts += Counter(runs=1, turned=int(run.turns > 0), cut=int(run.cuts > 0))
        if problem is not None:
            failures.append((run.cuts, run.turns, seed, problem, str(run)))
    if failures:
        _, _, _, problem, trace = min(failures)
        kinds = Counter(failure[3].partition("\n")[0] for failure in failures)
        found = "\n".join(f"{count} × {kind}" for kind, count in kinds.most_common())
        some = ", ".join(str(failure[2]) for failure in failures[:10])
        raise AssertionError(
            f"{len(failures)} of {counts['runs']} interleavings (seeds {some} …):\n{found}\n{problem}\n{trace}"
        )
    return counts
