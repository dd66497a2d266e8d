"""The table of a stack's processes, and functions that start, ask and stop the supervisor.

The supervisor's loop is in `supervisor.py`. Files in a run directory: `processes.json` (the table), `state.json` (the
states of the processes), `pids/<name>`, `logs/<name>.log`, `supervisor.lock`.
"""

import fcntl
import json
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

#: `wait_ready` gives up if a process fails this often in a row before it was ever ready: a wrong setting fails each
#: time, a slow dependency once or twice.
FAILURES_UNTIL_GIVEN_UP = 4


@dataclass(frozen=True)
class Process:
    """A row of the table: one process to run."""

    name: str
    argv: list[str]
    #: Added to the supervisor's environment.
    env: dict[str, str] = field(default_factory=dict)
    #: `http://…`: checked for ever, 200 is healthy. `tcp:host:port`, `unix:path`: checked until it first answers.
    check: str | None = None
    #: Started when all of these are ready, stopped before them.
    depends: list[str] = field(default_factory=list)
    #: Runs to its end; ready when it ended with 0.
    once: bool = False
    stop_signal: int = signal.SIGTERM
    #: Time between the stop signal and SIGKILL.
    stop_seconds: float = 10.0


class NotReady(Exception):
    """Raised when the stack does not become ready. The text says what to do."""


def write_table(run: Path, table: list[Process]) -> bool:
    """Stores the table. Returns False if the same table was stored before, else True."""
    text = json.dumps([asdict(row) for row in table], indent=1)
    path = run / "processes.json"
    if path.exists() and path.read_text() == text:
        return False
    path.touch(mode=0o600)  # it holds keys
    path.write_text(text)
    return True


def read_table(run: Path) -> list[Process]:
    return [Process(**row) for row in json.loads((run / "processes.json").read_text())]


def read_state(run: Path) -> dict[str, dict[str, object]]:
    """Returns the name of each process → its state (waiting, starting, ready, unhealthy, failed, done or stopped), pid,
    failures and starts.
    """
    path = run / "state.json"
    state: dict[str, dict[str, object]] = json.loads(path.read_text()) if path.exists() else {}
    return state


def bound_to_parent(argv: list[str], number: int) -> list[str]:
    """Wraps a command so that the kernel sends it the signal `number` when its parent process ends, even if the parent
    is killed. On a machine without setpriv, returns the command unchanged.
    """
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        return argv
    return [setpriv, "--pdeathsig", signal.Signals(number).name.removeprefix("SIG"), "--", *argv]


def supervisor_pid(run: Path) -> int | None:
    """Returns the pid of the supervisor that runs for this run directory, or None.

    That is the holder of the directory's lock: unlike a pid file, a lock cannot be stale.
    """
    try:
        with (run / "supervisor.lock").open() as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return int(lock.read() or 0) or None
    except FileNotFoundError:
        pass
    return None


def start_supervisor(run: Path, *, owner_pid: int | None = None) -> None:
    """Starts the supervisor in the background. If `owner_pid` is given, the supervisor stops everything when the
    process with this pid ends.
    """
    (run / "logs").mkdir(exist_ok=True)
    (run / "state.json").unlink(missing_ok=True)
    argv = [sys.executable, "-m", "local.processes.supervisor", str(run)]
    if owner_pid is not None:
        argv.append(str(owner_pid))
    log = run / "logs" / "supervisor.log"
    files = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644),
        (os.POSIX_SPAWN_DUP2, 1, 2),
    ]
    os.posix_spawn(argv[0], argv, os.environ, file_actions=files, setsid=True)


def wait_ready(run: Path, *, seconds: float, tell: Callable[[str], None]) -> None:
    """Waits until every process is ready, and passes a line about each to `tell`. Raises NotReady if a process fails
    repeatedly, or after `seconds`.
    """
    names = [row.name for row in read_table(run)]
    ready: set[str] = set()
    end = time.monotonic() + seconds
    while len(ready) < len(names):
        state = read_state(run)
        for name in names:
            row = state.get(name, {"state": "waiting", "failures": 0})
            if row["state"] in ("ready", "done") and name not in ready:
                ready.add(name)
                tell(f"{name} is ready" if row["state"] == "ready" else f"{name}: done")
            if name not in ready and int(str(row["failures"])) >= FAILURES_UNTIL_GIVEN_UP:
                raise NotReady(f"{name} does not start. The end of its log:\n{log_end(run, name)}")
        if time.monotonic() > end:
            late = [name for name in names if name not in ready]
            raise NotReady(f"not ready within {seconds:.0f} s: {', '.join(late)}\n{log_end(run, late[0])}")
        time.sleep(0.05)


def log_end(run: Path, name: str, lines: int = 25) -> str:
    """Returns the last lines of a log, indented."""
    path = run / "logs" / f"{name}.log"
    text = path.read_text(errors="replace").splitlines()[-lines:] if path.exists() else ["(it wrote nothing)"]
    return "\n".join(f"    {line}" for line in [*text, f"({path})"])


def stop_supervisor(run: Path, *, seconds: float = 45.0) -> bool:
    """Makes the supervisor stop everything, and waits for that. Returns whether there was a supervisor. Raises
    NotReady if it does not stop in time.
    """
    pid = supervisor_pid(run)
    if pid is None:
        return False
    os.kill(pid, signal.SIGTERM)
    end = time.monotonic() + seconds
    while supervisor_pid(run) is not None:
        if time.monotonic() > end:
            raise NotReady(f"the supervisor (pid {pid}) did not stop within {seconds:.0f} s")
        time.sleep(0.05)
    return True
