"""A stack whose connections to servers all run through links that can fail, and whose wall clocks can be wrong."""

import fcntl
import os
import struct
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from e2e_kit.stack import Stack

from fault_kit.links import Links
from local.processes.table import Process, read_table
from local.servers import postgres
from local.stack import units
from local.stack.stack import Stack as LocalStack

_SKEW = Path(__file__).with_name("skew")
#: Processes that may get a wrong clock: all of our own.
WORKERS = (*units.SERVICES, "gateway")
#: The end of a link's name → server: `publishing→database`.
SERVERS = ("database", "amqp", "simulator", "s3")


@dataclass(frozen=True)
class _Linked(LocalStack):
    """A local stack that reaches each server through a link."""

    links: Links = field(default_factory=Links)

    def plan(self, port: Mapping[str, int]) -> tuple[dict[str, str], list[Process]]:
        env, table = super().plan(port)
        return env, [self._linked(row, port) if row.name in WORKERS else row for row in table]

    def _linked(self, row: Process, port: Mapping[str, int]) -> Process:
        socket = postgres.socket_folder(self.run) / postgres.SOCKET_NAME
        ports = self.links.add(
            {f"{row.name}→{server}": ("127.0.0.1", port[server]) for server in SERVERS[1:]}
            | {f"{row.name}→database": str(socket)}
        )
        env = {name: self._through(row, value, port, ports) for name, value in row.env.items()}
        role = self.database_url(row.name).partition("@")[0]
        env["DATABASE_URL"] = f"{role}@127.0.0.1:{ports[f'{row.name}→database']}/{row.name}"
        skew = self.run / "skew" / row.name
        skew.parent.mkdir(exist_ok=True)
        skew.write_bytes(struct.pack("d", 0.0))
        return replace(row, env=env | {"PYTHONPATH": _path(_SKEW), "FAULTS_SKEW": str(skew)})

    def _through(self, row: Process, value: str, port: Mapping[str, int], ports: Mapping[str, int]) -> str:
        for server in SERVERS[1:]:
            value = value.replace(f"127.0.0.1:{port[server]}", f"127.0.0.1:{ports[f'{row.name}→{server}']}")
        return value


class FaultyStack(Stack):
    """A running stack whose connections and clocks a test can disturb."""

    def __init__(self, run: Path, links: Links) -> None:
        super().__init__(run)
        self.links = links

    def skew(self, name: str, seconds: float) -> None:
        """Makes the wall clock of a process this many seconds fast."""
        with (self.run / "skew" / name).open("r+b") as file:
            file.write(struct.pack("d", seconds))

    def mend(self) -> None:
        """Repairs all links and sets all clocks right."""
        self.links.thaw()
        for name in WORKERS:
            self.skew(name, 0.0)

    def table(self) -> list[Process]:
        """Returns the rows of the stack's processes with their settings."""
        return read_table(self.run)

    def state(self, name: str) -> str:
        return str(self.states()[name]["state"])

    def await_state(self, name: str, starts: int, seconds: float) -> float:
        """Waits until a process has been started more than `starts` times and answers again. Returns the monotonic
        time of that moment.
        """
        end = time.monotonic() + seconds
        while not (self.starts(name) > starts and self.state(name) == "ready"):
            assert time.monotonic() < end, f"{name} is not back within {seconds} s"
            time.sleep(0.01)
        return time.monotonic()


@contextmanager
def faulty_stack(run: Path) -> Iterator[FaultyStack]:
    """Runs a stack during the block and removes it afterwards."""
    local = _Linked(run, usual_ports=False)  # durable: its servers are killed
    try:
        with (run.parent / "starting").open(
            "w"
        ) as turn:  # two starts at the same time might choose the same ports
            fcntl.flock(turn, fcntl.LOCK_EX)
            local.up(lambda _: None, owner_pid=os.getpid())
        yield FaultyStack(run, local.links)
    finally:
        local.links.thaw()
        local.down()
        local.links.close()


def _path(folder: Path) -> str:
    return os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH"))))
