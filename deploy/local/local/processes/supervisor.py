"""The supervisor: keeps every process of a table running, and stops them in order.

A process that ends is started again after a short wait. A process whose health check fails for a while is killed and
started again, unless a process that it depends on is down, because a restart would not help then. If the supervisor
itself is killed, the kernel ends its children.

Run as `python -m local.processes.supervisor RUN_DIRECTORY [OWNER_PID]`. `table.py` starts it and asks for its state.
"""

import asyncio
import contextlib
import fcntl
import json
import os
import signal
import sys
import time
from pathlib import Path

from local.processes.table import Process, bound_to_parent, read_table

#: The waits before a failed process is started again grow from the first to the second figure, so that a process that
#: cannot start costs little.
FIRST_RETRY_SECONDS = 0.2
LAST_RETRY_SECONDS = 5.0
STARTING_CHECK_SECONDS = 0.1
CHECK_SECONDS = 1.0
CHECK_TIMEOUT_SECONDS = 3.0
#: How long a process may be unhealthy before a restart. With the start this stays within the 15 s that chassis expects.
UNHEALTHY_SECONDS = 8.0
START_SECONDS = 60.0
#: After being ready for this long, the next failure counts as the first.
SETTLED_SECONDS = 2.0
OWNER_CHECK_SECONDS = 0.5
LOG_BYTES = 20 * 2**20


async def answers(check: str) -> bool:
    """Whether a health check succeeds. `check`: an address. An HTTP URL must answer with status 200. A `tcp:` or
    `unix:` address must accept a connection.
    """
    try:
        async with asyncio.timeout(CHECK_TIMEOUT_SECONDS):
            kind, _, rest = check.partition(":")
            if kind == "unix":
                _, writer = await asyncio.open_unix_connection(rest)
            elif kind == "tcp":
                host, _, port = rest.rpartition(":")
                _, writer = await asyncio.open_connection(host, int(port))
            else:
                host, _, path = rest.removeprefix("//").partition("/")
                reader, writer = await asyncio.open_connection(*host.split(":"))
                writer.write(f"GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
                status = (await reader.readline()).split()
                writer.close()
                return status[1:2] == [b"200"]
            writer.close()
            return True
    except (OSError, TimeoutError, ValueError):
        return False


def open_log(path: Path) -> int:
    """Opens a log for appending. If it has become large, renames it first and begins a new one."""
    if path.exists() and path.stat().st_size > LOG_BYTES:
        path.replace(path.with_suffix(".log.1"))
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)


class Keeper:
    """Keeps the process of one row of the table running."""

    def __init__(self, row: Process, supervisor: "Supervisor") -> None:
        self.row = row
        self.supervisor = supervisor
        self.state = "waiting"
        self.failures = 0
        self.starts = 0
        self.ready = asyncio.Event()
        self.ready_since = 0.0
        self.process: asyncio.subprocess.Process | None = None

    def note(self, state: str) -> None:
        if state != self.state:
            if state == "ready":
                self.ready_since = time.monotonic()
            if self.state == "ready" and time.monotonic() - self.ready_since > SETTLED_SECONDS:
                self.failures = 0
            self.state = state
            (self.ready.set if state in ("ready", "done") else self.ready.clear)()
            self.supervisor.write_state()

    async def keep(self) -> None:
        """Starts the process whenever it is not running, until the supervisor stops."""
        while True:
            for name in self.row.depends:
                await self.supervisor.keepers[name].ready.wait()
            if self.supervisor.end.is_set():
                return
            code = await self.run()
            if self.supervisor.end.is_set():
                return
            if self.row.once and code == 0:
                self.failures = 0
                self.note("done")
                return
            self.note("failed")
            self.failures += 1
            wait = min(FIRST_RETRY_SECONDS * 2 ** (self.failures - 1), LAST_RETRY_SECONDS)
            print(f"{self.row.name} ended with {code}; again in {wait:.1f} s", flush=True)
            await asyncio.sleep(wait)

    async def run(self) -> int:
        """Runs the process until it ends, and returns its exit code."""
        log = open_log(self.supervisor.run / "logs" / f"{self.row.name}.log")
        try:
            self.process = await asyncio.create_subprocess_exec(
                *bound_to_parent(self.row.argv, self.row.stop_signal),
                cwd=self.supervisor.run, env=os.environ | self.row.env,
                stdin=asyncio.subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            os.write(log, f"{error}\n".encode())
            return 127
        finally:
            os.close(log)
        self.starts += 1
        # Replaced in one step, so that a reader finds the old number or the new one.
        fresh = self.supervisor.run / "pids" / f".{self.row.name}"
        fresh.write_text(f"{self.process.pid}\n")
        fresh.replace(self.supervisor.run / "pids" / self.row.name)
        self.note("starting" if self.row.check or self.row.once else "ready")
        watch = asyncio.create_task(self.watch(self.row.check)) if self.row.check else None
        try:
            return await self.process.wait()
        finally:
            if watch:
                watch.cancel()
            self.kill_group()  # workers of a killed master would keep its port

    async def watch(self, check: str) -> None:
        """Checks the process's health repeatedly, and kills the process when it stays unhealthy for too long. Time in
        which a process that it depends on is not ready does not count.

        A check that is not an HTTP URL ends when it succeeds for the first time.
        """
        healthy_at = time.monotonic()
        while True:
            healthy = await answers(check)
            away = any(not self.supervisor.keepers[name].ready.is_set() for name in self.row.depends)
            if healthy or away:
                healthy_at = time.monotonic()
            if healthy:
                self.note("ready")
                if not check.startswith("http"):
                    return
            unhealthy_seconds = time.monotonic() - healthy_at
            if unhealthy_seconds > CHECK_TIMEOUT_SECONDS and self.state == "ready":
                self.note("unhealthy")
            if unhealthy_seconds > (START_SECONDS if self.state == "starting" else UNHEALTHY_SECONDS):
                print(f"{self.row.name} is unhealthy for {unhealthy_seconds:.0f} s; killed", flush=True)
                self.kill_group()
            await asyncio.sleep(STARTING_CHECK_SECONDS if self.state == "starting" else CHECK_SECONDS)

    def kill_group(self) -> None:
        if self.process:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)

    async def stop(self) -> None:
        """Sends the stop signal and waits; kills the process if it does not end in time."""
        if self.process and self.process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self.process.send_signal(self.row.stop_signal)
            try:
                await asyncio.wait_for(self.process.wait(), self.row.stop_seconds)
            except TimeoutError:
                print(
                    f"{self.row.name} did not stop within {self.row.stop_seconds:.0f} s; killed", flush=True
                )
                self.kill_group()
                await self.process.wait()
        self.kill_group()
        (self.supervisor.run / "pids" / self.row.name).unlink(missing_ok=True)
        self.note("stopped")


class Supervisor:
    """Runs a Keeper for each row of a run directory's table."""

    def __init__(self, run: Path) -> None:
        self.run = run
        self.end = asyncio.Event()
        self.keepers = {row.name: Keeper(row, self) for row in read_table(run)}
        (run / "pids").mkdir(exist_ok=True)
        (run / "logs").mkdir(exist_ok=True)

    def write_state(self) -> None:
        state = {
            name: {"state": keeper.state, "pid": keeper.process and keeper.process.pid,
                   "failures": keeper.failures, "starts": keeper.starts}
            for name, keeper in self.keepers.items()
        }  # fmt: skip
        fresh = self.run / "state.json.new"
        fresh.write_text(json.dumps(state, indent=1))
        fresh.replace(self.run / "state.json")

    async def stop_in_order(self, keeper: Keeper, stopped: dict[str, asyncio.Event]) -> None:
        """Stops the process that `keeper` runs, after all processes that depend on it have stopped.

        `stopped`: name of each process → an event, which is set when the process has stopped.
        """
        for other in self.keepers.values():
            if keeper.row.name in other.row.depends:
                await stopped[other.row.name].wait()
        await keeper.stop()
        stopped[keeper.row.name].set()

    async def supervise(self, owner_pid: int | None) -> None:
        """Runs until SIGTERM, SIGINT or the end of the owner process, then stops everything."""
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, self.end.set)
        self.write_state()
        tasks = [asyncio.create_task(keeper.keep()) for keeper in self.keepers.values()]
        while not self.end.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.end.wait(), OWNER_CHECK_SECONDS)
            if owner_pid is not None and not Path(f"/proc/{owner_pid}").exists():
                self.end.set()
        stopped = {name: asyncio.Event() for name in self.keepers}
        await asyncio.gather(*(self.stop_in_order(keeper, stopped) for keeper in self.keepers.values()))
        for task in tasks:
            task.cancel()


def main() -> int:
    """Runs the supervisor of the run directory that the arguments name, and returns 0 at its end. Returns 1 at once if
    another supervisor holds the directory's lock.
    """
    run = Path(sys.argv[1])
    with (run / "supervisor.lock").open("a+") as lock:
        for attempts_left in reversed(range(10)):  # a reader of our pid holds the lock for a moment
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if not attempts_left:
                    print("another supervisor runs here", flush=True)
                    return 1
                time.sleep(0.05)
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        asyncio.run(Supervisor(run).supervise(int(sys.argv[2]) if len(sys.argv) > 2 else None))
    return 0


if __name__ == "__main__":
    sys.exit(main())
