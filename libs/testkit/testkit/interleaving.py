"""For tests: runs several tries over one PostgreSQL in an order that a seed chooses, and cuts them anywhere.

Each try runs in a thread of its own and belongs to a `Process`, which has its own connections. A thread stops before
every statement that it sends, after every answer, and around every call that `Process.outside` wraps. A scheduler lets
one thread at a time go on to its next stop; a thread that waits for a lock in PostgreSQL, or for another thread, is
passed over until it moves again. At a stop the scheduler may cut:

- KILL: the process ends there. Its open transaction is rolled back, its threads raise `Killed`, which no
  `except Exception` catches, and nothing that they still do in `finally` reaches the database or the outside. Killed
  after a COMMIT, the process has committed and does not know it.
- LOSE: the connection breaks there, before the statement or after its effect, and the code goes on with the error.

    with Interleaver(url) as interleaver:
        first, second = interleaver.process("first"), interleaver.process("second")
        def example(seed):
            run = interleaver.run(seed, Try("first", first, ...), Try("second", second, ...))
            assert ...
        explore(interleaver, range(200), example)

A seed gives the same order again as long as each process has one thread at work and ids do not change the order of
locks. The statements come through a cursor class of psycopg2's, so that the code under test has no hook in it.
"""

import enum
import random
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import psycopg2
from psycopg2 import errorcodes
from psycopg2.extensions import TRANSACTION_STATUS_IDLE, cursor
from sqlalchemy import event

from chassis.db.database import Database

Result = TypeVar("Result")

#: A thread that has not stopped for so long may be held up: only then PostgreSQL is asked. Our choice.
_LOOK_SECONDS = 0.003
#: PostgreSQL breaks a deadlock after 1 s and a wait for a lock after 5 s: beyond this the harness is stuck.
_STUCK_SECONDS = 20.0
#: How often the scheduler turns from one try to another at a stop; a seed draws one of these.
_TURNS = (0.03, 0.1, 0.3, 1.0)
#: How often a stop is cut while cuts are left; a seed draws one of these.
_CUTS = (0.0, 0.02, 0.08)
_LOCK_ERRORS = frozenset(
    {errorcodes.DEADLOCK_DETECTED, errorcodes.LOCK_NOT_AVAILABLE, errorcodes.QUERY_CANCELED}
)
_BLOCKED = "SELECT pid FROM unnest(%s) AS pid WHERE cardinality(pg_blocking_pids(pid)) > 0"
_SHOWN_CHARACTERS = 90


class Killed(BaseException):
    """The process of this thread was killed. Nothing may catch it and go on."""


class Stuck(AssertionError):
    """No try went on for 20 s, though PostgreSQL would have ended any wait for a lock."""


class Cut(enum.Enum):
    KILL = "KILLED"
    LOSE = "CONNECTION LOST"


@dataclass(frozen=True, slots=True)
class Try:
    """One thread's work. A process may have several tries: they die together."""

    name: str
    process: "Process"
    work: Callable[[], Any]
    #: The cuts that may hit it; `()` for what stands for the passing of time, or a client.
    cuts: tuple[Cut, ...] = (Cut.KILL, Cut.LOSE)


@dataclass(slots=True)
class Ended:
    """How a try ended: with a value, with an error, or killed."""

    value: Any = None
    error: BaseException | None = None

    @property
    def was_killed(self) -> bool:
        return isinstance(self.error, Killed)


@dataclass
class Run:
    """What happened under one seed."""

    seed: int
    ended: dict[str, Ended] = field(default_factory=dict)
    #: A line for each time that a thread was let go on, and for each cut.
    trace: list[str] = field(default_factory=list)
    turns: int = 0
    cuts: int = 0
    #: Deadlocks and lock timeouts that PostgreSQL ended.
    lock_errors: list[str] = field(default_factory=list)

    def __getitem__(self, name: str) -> Ended:
        return self.ended[name]

    def __str__(self) -> str:
        ends = [f"{name} ended: {end.error or end.value!r}" for name, end in self.ended.items()]
        return "\n".join([f"seed {self.seed}:", *self.trace, *ends])


class _Thread:
    """A thread that stops: a try's own, or another that a try's process has started."""

    def __init__(self, name: str, process: "Process", cuts: tuple[Cut, ...], ident: int = 0) -> None:
        self.name, self.process, self.cuts = name, process, cuts
        self.ident, self.native_id = ident, threading.get_native_id()
        self.gate = threading.Semaphore(0)
        #: Where it stands; None while it moves.
        self.stop: str | None = None
        self.may_be_cut = False
        self.cut: Cut | None = None
        self.has_ended = False
        #: The backend that its statement runs in.
        self.pid: int | None = None
        #: It waits for the network, for no other thread.
        self.is_connecting = False
        #: Its processor time when it was last seen asleep.
        self.slept_at: float | None = None

    @property
    def moves(self) -> bool:
        return self.stop is None and not self.has_ended

    def is_asleep(self) -> bool:
        """Whether it slept at the last look and has done nothing since: it waits for another thread."""
        if self.is_connecting:
            return False
        stat = Path(f"/proc/self/task/{self.native_id}/stat")
        try:
            sleeps = stat.read_text().rpartition(")")[2].split()[0] == "S"
            used = time.clock_gettime(time.pthread_getcpuclockid(self.ident))
        except OSError:
            return True  # it has ended
        before, self.slept_at = self.slept_at, used if sleeps else None
        return sleeps and before == used


class Process:
    """A process of the system under test: its own connections, its own calls to the outside; killed as a whole."""

    def __init__(self, name: str, url: str) -> None:
        self.name = name
        self.is_dead = False
        self.scheduler: _Scheduler | None = None
        self.database = Database(url)
        self.statements: dict[str, str] = {}
        self._connections: list[Any] = []
        event.listen(self.database.engine, "do_connect", self._note_connecting)
        event.listen(self.database.engine, "connect", self._watch)

    def outside(self, call: Callable[..., Result], *, lost: Callable[[], Exception]) -> Callable[..., Result]:
        """The call with a stop before and after it; `lost()` is what its caller gets when it is cut from the answer."""

        @wraps(call)
        def stopping(*arguments: Any, **named: Any) -> Result:
            return self.between_stops(call.__name__, lambda: call(*arguments, **named), lost=lost)

        return stopping

    def between_stops(
        self,
        what: str,
        action: Callable[[], Result],
        *,
        lost: Callable[[], Exception],
        connection: Any = None,
    ) -> Result:
        """Runs the action between two stops; outside a run at once. Raises Killed, and what `lost` gives."""
        scheduler = self.scheduler
        if scheduler is None:
            return action()
        thread = scheduler.thread_of(self)

        def stop(where: str) -> None:
            cut = scheduler.wait_at(thread, f"{where} {what}")
            if cut is Cut.LOSE:
                raise lost()
            if cut is Cut.KILL or self.is_dead:
                if connection is not None:
                    end_transaction(connection)
                raise Killed(self.name)

        stop("before")
        try:
            thread.pid = None if connection is None else connection.info.backend_pid
            return action()
        except psycopg2.Error as error:
            if error.pgcode in _LOCK_ERRORS and not self.is_dead:
                scheduler.run.lock_errors.append(f"{thread.name}: {what}: {error}".strip())
            raise
        finally:
            thread.pid = None
            stop("after")

    def revive(self, scheduler: "_Scheduler | None") -> None:
        """A new process of this name, over the same pool: nothing of the one before is left in it."""
        self.is_dead, self.scheduler = False, scheduler
        self._connections = [connection for connection in self._connections if not connection.closed]
        for connection in self._connections:
            end_transaction(connection)

    def cancel(self) -> None:
        """Ends what its backends wait for."""
        for connection in self._connections:
            if not connection.closed:
                connection.cancel()

    def close(self) -> None:
        self.database.close()

    def _note_connecting(self, *_: Any) -> None:
        if self.scheduler is not None:
            self.scheduler.thread_of(self).is_connecting = True

    def _watch(self, connection: Any, _record: Any) -> None:
        if self.scheduler is not None:
            self.scheduler.thread_of(self).is_connecting = False
        self._connections.append(connection)

        def make(of: Any, name: str | None = None, **options: Any) -> _Cursor:
            made = _Cursor(of, name, **options)
            made.process = self
            return made

        connection.cursor_factory = make


class _Cursor(cursor):
    process: Process

    def execute(self, query: Any, *values: Any) -> None:
        self._between_stops(query, lambda: super(_Cursor, self).execute(query, *values))

    def executemany(self, query: Any, rows: Any) -> None:
        self._between_stops(query, lambda: super(_Cursor, self).executemany(query, rows))

    def _between_stops(self, query: Any, action: Callable[[], None]) -> None:
        words = query.decode() if isinstance(query, bytes) else str(query)
        first = words.removeprefix("BEGIN; ")
        if first.startswith("PREPARE "):  # changes nothing that anybody else could see
            name, _, prepared = first.removeprefix("PREPARE ").partition(" AS ")
            self.process.statements[name] = prepared
            return action()
        connection = self.connection

        def lost() -> Exception:
            end_transaction(connection)
            connection.close()
            return psycopg2.OperationalError("server closed the connection unexpectedly")

        shown = _in_short(words, self.process.statements)
        return self.process.between_stops(shown, action, lost=lost, connection=connection)


class _Scheduler:
    """One run: which thread goes on, and where it is cut."""

    def __init__(self, run: Run, tries: Sequence[Try], most_cuts: int, blocked: "Blocked") -> None:
        self.run = run
        self._blocked = blocked
        self._tries = tries
        self._most_cuts = most_cuts
        self._random = random.Random(run.seed)
        self._turning, self._cutting = self._random.choice(_TURNS), self._random.choice(_CUTS)
        self._changed = threading.Condition()
        #: Stops and ends of threads, and how many of them the scheduler has seen.
        self._changes = self._seen = 0
        self._threads: dict[int, _Thread] = {}
        self._own: list[_Thread] = []
        self._last: _Thread | None = None
        #: The thread that was let go on last, while all others stand still: it decides at its stops by itself, which
        #: saves two changes of thread a step. None: the scheduler's own thread decides, once all have settled.
        self._alone: _Thread | None = None
        #: Stops of such a thread.
        self._progress = 0
        #: A kill that such a thread has decided: the scheduler's own thread carries it out.
        self._decided: tuple[_Thread, Cut | None] | None = None
        self._is_over = False

    def go(self) -> None:
        """Starts every try and lets them go on until all have ended."""
        started = []
        for one in self._tries:
            started.append(threading.Thread(target=self._work, args=(one,), daemon=True))
            started[-1].start()
            self._settle()  # they are numbered in this order
        while True:
            ready = [thread for thread in self._threads.values() if thread.stop is not None]
            if ready:
                self._step(ready)
                self._settle()
            elif all(thread.has_ended for thread in self._own):
                break
            else:
                self._await_change()
        for thread in started:
            thread.join()

    def end(self) -> None:
        """Kills the helper threads that come to a stop later than all tries have ended: nobody would let them go on."""
        with self._changed:
            self._is_over, self._alone = True, None
            for thread in self._threads.values():
                if thread.stop is not None:
                    self._let_go(thread, Cut.KILL)

    def thread_of(self, process: Process) -> _Thread:
        """The calling thread, which is a helper of its process if it is not a try's own."""
        ident = threading.get_ident()
        with self._changed:
            if ident not in self._threads:
                name = f"{process.name}'s helper {len(self._threads)}"
                cuts = next(one.cuts for one in self._tries if one.process is process)
                self._threads[ident] = _Thread(name, process, cuts, ident)
            return self._threads[ident]

    def wait_at(self, thread: _Thread, stop: str, *, may_be_cut: bool = True) -> Cut | None:
        """Called by the thread: returns when it may go on, and how it was cut."""
        with self._changed:
            if thread.process.is_dead or self._is_over:
                return Cut.KILL
            thread.stop, thread.may_be_cut = stop, may_be_cut
            if self._alone is thread:
                self._decide_alone()
            else:
                self._note_change()
        thread.gate.acquire()
        return thread.cut

    def _decide_alone(self) -> None:
        """The same step as `_step`, taken by the only thread that has moved."""
        self._progress += 1
        chosen, cut = self._decide([thread for thread in self._threads.values() if thread.stop is not None])
        if cut is Cut.KILL:
            self._decided = chosen, cut
            self._note_change()
        else:
            self._let_go(chosen, cut)

    def _work(self, one: Try) -> None:
        thread = self.thread_of(one.process)
        thread.name, thread.cuts = one.name, one.cuts
        self._own.append(thread)
        ended = self.run.ended[one.name] = Ended()
        self.wait_at(thread, "at its beginning", may_be_cut=False)
        try:
            if one.process.is_dead:
                raise Killed(one.process.name)
            ended.value = one.work()
        except BaseException as error:  # noqa: BLE001 - its end is what the test asks about
            ended.error = error
        finally:
            with self._changed:
                thread.has_ended = True
                self._note_change()

    def _step(self, ready: list[_Thread]) -> None:
        with self._changed:
            (thread, cut), self._decided = self._decided or self._decide(ready), None
        if cut is Cut.KILL:
            self._kill(thread.process)
        else:
            with self._changed:
                stand_still = not any(other.moves for other in self._threads.values())
                self._let_go(thread, cut)
                self._alone = thread if stand_still else None

    def _decide(self, ready: list[_Thread]) -> tuple[_Thread, Cut | None]:
        thread = self._choose(ready)
        cut = self._choose_cut(thread)
        self.run.trace.append(f"  {thread.name}: {thread.stop}{' ' + cut.value if cut else ''}")
        self.run.cuts += cut is not None
        return thread, cut

    def _choose(self, ready: list[_Thread]) -> _Thread:
        turns = self._random.random() < self._turning
        if self._last not in ready or turns:
            chosen = self._random.choice(ready)
            self.run.turns += self._last is not None and chosen is not self._last and not self._last.has_ended
            self._last = chosen
        assert self._last is not None
        return self._last

    def _choose_cut(self, thread: _Thread) -> Cut | None:
        chance = self._random.random()
        if not thread.may_be_cut or not thread.cuts or self.run.cuts >= self._most_cuts:
            return None
        return self._random.choice(thread.cuts) if chance < self._cutting else None

    def _kill(self, process: Process) -> None:
        """Returns when none of its threads does anything any more."""
        with self._changed:
            process.is_dead, self._alone = True, None
            threads = [thread for thread in self._threads.values() if thread.process is process]
        if any(thread.pid is not None for thread in threads):
            process.cancel()
        for thread in threads:
            if thread.stop is not None:
                self._let_go(thread, Cut.KILL)

    def _let_go(self, thread: _Thread, cut: Cut | None) -> None:
        with self._changed:
            thread.stop, thread.cut, thread.slept_at = None, cut, None
            if self._alone is not None:
                self._alone = thread
            thread.gate.release()

    def _settle(self) -> None:
        """Returns when every thread stands at a stop, has ended, or waits for what another one holds."""
        end, progress = time.monotonic() + _STUCK_SECONDS, self._progress
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._changes != self._seen, _LOOK_SECONDS)
                seen = self._seen = self._changes
                moving = [thread for thread in self._threads.values() if thread.moves]
                if moving and progress != self._progress:
                    end, progress = time.monotonic() + _STUCK_SECONDS, self._progress
                    continue
            if set(moving) <= self._held_up(moving):
                with self._changed:
                    if seen == self._changes and (not moving or progress == self._progress):
                        self._alone = None
                        return
            self._check(end)

    def _held_up(self, moving: list[_Thread]) -> set[_Thread]:
        """Those that wait for a lock in PostgreSQL, or for another thread. Asks nobody while one is just running."""
        if not moving:
            return set()
        running = [thread for thread in moving if thread.pid is None]
        held = {thread for thread in running if thread.is_asleep()}
        if len(held) < len(running):
            return held
        in_database = {thread.pid: thread for thread in moving if thread.pid is not None}
        blocked = self._blocked(list(in_database)) if in_database else set()
        return held | {thread for pid, thread in in_database.items() if pid in blocked}

    def _await_change(self) -> None:
        """All that are left wait: for PostgreSQL to end a deadlock, or for something that comes with time."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._changes != self._seen, _STUCK_SECONDS):
                self._check(0.0)
        self._settle()

    def _check(self, end: float) -> None:
        """Raises Stuck after `end`, with what each thread is at."""
        if time.monotonic() < end:
            return
        frames = sys._current_frames()
        told = [
            f"{thread.name}:\n{''.join(traceback.format_stack(frames[thread.ident]))}"
            for thread in self._threads.values()
            if thread.moves and thread.ident in frames
        ]
        raise Stuck("\n".join([str(self.run), *told]))

    def _note_change(self) -> None:
        self._changes += 1
        self._changed.notify_all()


Blocked = Callable[[list[int]], set[int]]


class Interleaver:
    """The processes of a test and the runs over them."""

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
        """The process of this name, alive; its pool is kept from run to run."""
        if name not in self._processes:
            self._processes[name] = Process(name, self._url)
        return self._processes[name]

    def run(self, seed: int, *tries: Try, most_cuts: int = 1, allows_lock_errors: bool = False) -> Run:
        """Runs the tries to their ends in the seed's order, then revives their processes.

        Raises AssertionError when PostgreSQL had to end a wait for a lock and that is not allowed; Stuck.
        """
        run = self.last = Run(seed)
        scheduler = _Scheduler(run, tries, most_cuts, self._blocked)
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
    """Runs the example under every seed; how many runs there were, and how many of them had turns and cuts.

    Raises AssertionError with the number of failures by message, and the trace of the one with the fewest turns.
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


def end_transaction(connection: Any) -> None:
    """Rolls back at once what a connection has open, as PostgreSQL does when its client is gone."""
    with suppress(psycopg2.Error):  # a helper thread may be closing it
        if not connection.closed and connection.info.transaction_status != TRANSACTION_STATUS_IDLE:
            cursor(connection).execute("ROLLBACK")


def _in_short(words: str, prepared: dict[str, str]) -> str:
    """The beginning of a statement on one line, prepared ones by their own words."""
    for name, statement in prepared.items():
        words = words.replace(f"EXECUTE {name}", statement)
    line = " ".join(words.split())
    return line if len(line) <= _SHOWN_CHARACTERS else f"{line[:_SHOWN_CHARACTERS]} …"
