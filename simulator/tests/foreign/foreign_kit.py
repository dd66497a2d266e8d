"""Runs the programs that try out other people's clients, and writes the table in docs/platforms.md.

Python's clients are listed in `requirements.lock` (written by `./dev lock`), Node's in `package-lock.json`.
"""

import json
import socket
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from simulator.app import create_app
from simulator.config import Settings
from simulator.simulation import Simulation
from testkit.foreign_packages import NODE, Installed, environment

HERE = Path(__file__).parent
SIMULATOR, ROOT = HERE.parents[1], HERE.parents[2]
PAGE = ROOT / "docs" / "platforms.md"
#: Every name that the simulator's certificate is valid for: the platforms' hosts, and one for control calls.
HOSTS = ("simulator.test", *create_app(Simulation()).wsgi_app.hosts)
#: What every client is asked to do, in this order.
OPERATIONS = ("log in", "refresh", "upload", "post", "read", "comment", "reply", "delete")
YES = "yes"
_BEGIN, _END = "<!-- made by simulator/tests/foreign -->\n", "<!-- end of it -->"
#: Longest time for one client's program.
_RUN_SECONDS = 120


@dataclass(frozen=True)
class Server:
    """A running simulator."""

    port: int
    #: Its certificate, which the clients trust.
    certificate: Path


@dataclass(frozen=True)
class Clients:
    """The clients, installed in environments of their own."""

    installed: Installed

    def run(self, program: str, server: Server) -> dict[str, str]:
        """Runs a program and returns its report: the client's `name`, and for each operation "yes", the reason why the
        client does not have it, or a traceback.
        """
        argv = [self.installed.python, "-W", "ignore"] if program.endswith(".py") else [NODE / "bin/node"]
        trusted = str(server.certificate)
        done = subprocess.run(
            [*argv, HERE / "clients" / program],
            env=environment() | apps() | {
                "SIMULATOR_PORT": str(server.port), "NODE_PATH": str(self.installed.node_modules),
                "REQUESTS_CA_BUNDLE": trusted, "HTTPLIB2_CA_CERTS": trusted, "SSL_CERT_FILE": trusted,
                "NODE_EXTRA_CA_CERTS": trusted,
            },
            capture_output=True, text=True, timeout=_RUN_SECONDS,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        seen: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
        return seen


def apps() -> dict[str, str]:
    """Returns our apps as environment variables: `APP_<platform>` with id and secret. The name of a platform's second
    app has a further word.
    """
    return {f"APP_{name.replace(' ', '_')}": " ".join(app) for name, app in Settings().apps.items()}


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def table() -> dict[str, dict[str, str]]:
    """Returns the cells of the page's table, by client and operation."""
    lines = PAGE.read_text().partition(_BEGIN)[2].partition(_END)[0].splitlines()
    head, _, *rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
    return {row[0]: dict(zip(head[1:], row[1:], strict=True)) for row in rows}


def write_row(name: str, seen: Mapping[str, str]) -> None:
    """Writes one client's row. The row of another version of the same client is removed."""
    before, _, rest = PAGE.read_text().partition(_BEGIN)
    after = rest.partition(_END)[2]
    kept = {other: row for other, row in table().items() if other.split()[0] != name.split()[0]}
    rows = sorted([*kept.items(), (name, dict(seen))])
    lines = [
        ["Client", *OPERATIONS], ["-"] * (1 + len(OPERATIONS)),
        *([it, *(cells[operation] for operation in OPERATIONS)] for it, cells in rows),
    ]  # fmt: skip
    made = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    PAGE.write_text(f"{before}{_BEGIN}{made}{_END}{after}")
