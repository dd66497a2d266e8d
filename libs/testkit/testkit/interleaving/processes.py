"""The simulated processes under test. Their threads stop before and after each statement, and before and after each
call that `Process.outside` wraps.

A cursor class for psycopg2 sees the statements, so the code under test needs no hook.
"""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, Protocol, TypeVar

import psycopg2
from psycopg2 import errorcodes
from psycopg2.extensions import TRANSACTION_STATUS_IDLE, cursor
from sqlalchemy import event

from chassis.db.database import Database
from testkit.interleaving.runs import Cut, Killed, Run

Result = TypeVar("Result")

_LOCK_ERRORS = frozenset(
    {errorcodes.DEADLOCK_DETECTED, errorcodes.LOCK_NOT_AVAILABLE, errorcodes.QUERY_CANCELED}
)
_SHOWN_CHARACTERS = 90


class Thread:
    """A thread of a simulated process: it runs the steps of a `Try` of the test, or the code under test started it."""

    def __init__(self, name: str, process: "Process", cuts: tuple[Cut, ...], ident: int = 0) -> None:
        self.name, self.process, self.cuts = name, process, cuts
        self.ident, self.native_id = ident, threading.get_native_id()
        self.gate = threading.Semaphore(0)
        #: The stop at which the thread waits; None while it runs.
        self.stop: str | None = None
        self.may_be_cut = False
        self.cut: Cut | None = None
        self.has_ended = False
        #: PID of the PostgreSQL backend that runs the thread's statement.
        self.pid: int | None = None
        #: Whether the thread waits for a new connection, not for another thread.
        self.is_connecting = False
        #: The thread's CPU time in seconds when it was last seen asleep.
        self.slept_at: float | None = None

    @property
    def runs(self) -> bool:
        return self.stop is None and not self.has_ended

    def is_asleep(self) -> bool:
        """Whether the thread waits for another thread: it sleeps, and has used no CPU since the last call of this
        method.
        """
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


class Scheduler(Protocol):
    """The methods of a scheduler that a simulated process calls. The scheduler decides which thread continues next."""

    run: Run

    def thread_of(self, process: "Process") -> Thread:
        """Returns the calling thread, as a thread of this process."""

    def wait_at(self, thread: Thread, stop: str) -> Cut | None:
        """Blocks the calling thread at a stop until it may continue. Returns how it was cut there, or None."""


class Process:
    """A simulated process of the system under test, with its own database connections. Its threads are killed
    together."""

    def __init__(self, name: str, url: str) -> None:
        self.name = name
        self.is_dead = False
        self.scheduler: Scheduler | None = None
        self.database = Database(url)
        self.statements: dict[str, str] = {}
        #: Statement → its short form in the trace. Cached, because making it takes as long as a small query.
        self.shown: dict[str, str] = {}
        self._connections: list[Any] = []
        event.listen(self.database.engine, "do_connect", self._note_connecting)
        event.listen(self.database.engine, "connect", self._watch)

    def outside(self, call: Callable[..., Result], *, lost: Callable[[], Exception]) -> Callable[..., Result]:
        """Wraps a function that calls another system, such as a platform: its thread stops before and after each call.

        If the scheduler breaks the connection there, the caller gets the error that `lost()` returns.
        """

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
        """Stops the calling thread, runs `action`, stops the thread again, and returns the result of `action`.

        Raises Killed if the process is killed at a stop, and the error that `lost()` returns if the connection is
        broken there. While no run is going on, there are no stops. `what` is the name of the action in the trace.
        """
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

    def revive(self, scheduler: Scheduler | None) -> None:
        """Starts the process again for the next run. It keeps its connections, whose open transactions are rolled
        back.
        """
        self.is_dead, self.scheduler = False, scheduler
        self._connections = [connection for connection in self._connections if not connection.closed]
        for connection in self._connections:
            end_transaction(connection)

    def cancel(self) -> None:
        """Cancels the statements that PostgreSQL is running for this process."""
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
        if first.startswith("PREPARE "):  # has no effect that another process can see
            name, _, prepared = first.removeprefix("PREPARE ").partition(" AS ")
            self.process.statements[name] = prepared
            return action()
        connection = self.connection

        def lost() -> Exception:
            end_transaction(connection)
            connection.close()
            return psycopg2.OperationalError("server closed the connection unexpectedly")

        shown = self.process.shown.get(words)
        if shown is None:
            shown = self.process.shown[words] = _in_short(words, self.process.statements)
        return self.process.between_stops(shown, action, lost=lost, connection=connection)


@dataclass(frozen=True, slots=True)
class Try:
    """The work of one thread in one simulated process. When the process is killed, all its tries end."""

    name: str
    process: Process
    work: Callable[[], Any]
    #: The cuts that may happen to the thread. `()` for a try that moves the clock or plays a client.
    cuts: tuple[Cut, ...] = (Cut.KILL, Cut.LOSE)


def end_transaction(connection: Any) -> None:
    """Rolls back the open transaction of a connection, as PostgreSQL does when its client is gone."""
    with suppress(psycopg2.Error):  # a helper thread may be closing it
        if not connection.closed and connection.info.transaction_status != TRANSACTION_STATUS_IDLE:
            cursor(connection).execute("ROLLBACK")


def _in_short(words: str, prepared: dict[str, str]) -> str:
    """Returns the beginning of a statement on one line, with the text of a prepared statement in place of its name."""
    for name, statement in prepared.items():
        words = words.replace(f"EXECUTE {name}", statement)
    line = " ".join(words.split())
    return line if len(line) <= _SHOWN_CHARACTERS else f"{line[:_SHOWN_CHARACTERS]} …"
