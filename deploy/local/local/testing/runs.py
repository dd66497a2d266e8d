"""`./dev test` and `./dev bench`: start servers or a stack for one run, and remove them afterwards."""

import math
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from local.containers import packages
from local.containers.network import network
from local.paths import ROOT, RUN_TEST
from local.processes.table import NotReady, bound_to_parent, supervisor_pid
from local.servers import postgres
from local.stack.stack import Stack, Tell
from local.testing import again, changed, servers

PYTEST = [sys.executable, "-m", "pytest"]
#: Each file runs in one process, in the order of collection (conftest.py: the longest first).
BY_FILE = ["--dist", "loadfile", "--no-loadscope-reorder"]
ON_TWO = ["-n", "2", *BY_FILE]
#: For tests with a stack for each process: they wait for restarts and for leases most of the time.
ON_THREE = ["-n", "3", *BY_FILE]
#: For tests that share a stack: on two cores three processes leave a part of the time unused.
ON_FOUR = ["-n", "4", *BY_FILE]
#: Makes each process but the first start its own stack (tests/e2e/conftest.py).
OWN_STACKS = {"TEST_OWN_STACKS": "1"}
#: The run directory of the servers for tests without a stack, in that of the run.
SERVERS = "servers"
#: pytest's exit code if it selected no tests.
NO_TESTS = 5
#: Tests that call a running stack over HTTP. A run with none of these starts only servers, and only these may be marked
#: `alone` or `quiet`.
NEEDS_STACK = (ROOT / "tests",)
#: Tests that start their own stack over faulty connections, and how long all of them may take.
FAULTS = ROOT / "tests" / "e2e" / "faults"
FAULTS_SECONDS = 1200.0
#: Tests of docker-compose.yml on an engine that they start.
CONTAINERS = ROOT / "deploy" / "tests" / "containers"
#: The exit code where no engine can run, as automake's and meson's for a skipped test; pytest has none that high.
NO_ENGINE = 77


def test(arguments: Sequence[str], tell: Tell) -> int:
    """Runs pytest with `arguments` and returns its exit code.

    Without a path, runs all tests in four parts: the end-to-end tests in four processes that share a stack, then those
    marked `alone` in three processes with a stack each, then those marked `quiet` in one process, then all other tests
    in four processes that share servers. If only a few tests of a part fail, they are run again alone (again.py). With
    paths, starts only what these tests need: a stack, or some servers. Servers that `./dev servers up` has started are
    used.

    --changed selects the files that the changes since `main` can break. --faults runs only the tests on stacks with
    faulty connections, and --containers only those on a container engine; --core makes these runs shorter. With --slow
    the platforms are as slow as the real ones, and tests wait longer.
    """
    ours = {"--faults", "--containers", "--core", "--slow", "--changed"} & {*arguments}
    arguments, slow = [it for it in arguments if it not in ours], "--slow" in ours
    if "--faults" in ours:
        return faults(arguments, "--core" in ours, slow, tell)
    if "--containers" in ours:
        return containers(arguments, "--core" in ours, tell)
    if "--changed" in ours:
        chosen = changed.tests(ROOT, changed.files(ROOT))
        if not chosen:
            tell("no test depends on what has changed")
            return 0
        tell(f"{len(chosen)} test files depend on what has changed (tests/e2e is not among them)")
        arguments += [str(path) for path in chosen]
    needed = servers_for(paths_of(arguments))
    if not needs_stack(arguments) and (not needed or supervisor_pid(servers.SHARED)):
        return child([*PYTEST, *arguments], servers.up(servers.SHARED, lambda _: None) if needed else {})
    with run_directory("test", tell) as run:
        if needs_stack(arguments):
            env = whole(run, tell, durable=False, slow=slow, payments=True) | _told(slow)
        else:
            env = servers.up(run, tell, owner_pid=os.getpid(), names=needed)
        pytest = [*PYTEST, *arguments]
        if paths_of(arguments):
            return child(pytest, env)

        def part(name: str, env: dict[str, str], *selection: str) -> int:
            return again.run(lambda more: child([*pytest, *more], env), selection, run / name, tell)

        on_stacks = [str(path) for path in NEEDS_STACK]
        together = part("together", env, *ON_FOUR, "-m", "not alone and not quiet", *on_stacks)
        alone = part("alone", env | OWN_STACKS, *ON_THREE, "-m", "alone and not quiet", *on_stacks)
        quiet = part("quiet", env, "-m", "quiet", *on_stacks)
        Stack(run).down()  # even without tests it takes a part of a core
        env = servers.up(run / SERVERS, tell, owner_pid=os.getpid())
        others = part("others", env, *ON_FOUR, *(str(ROOT / name) for name in changed.TESTED))
        return worst(together, alone, quiet, others)


def faults(arguments: Sequence[str], core: bool, slow: bool, tell: Tell) -> int:
    """Runs the tests in `tests/e2e/faults`, whose stacks have faulty connections. Returns pytest's exit code, or 1 when
    the time is up.

    They run in two processes, each with its own stack; tests marked `quiet` run alone afterwards. With `core`, the
    tests have fewer steps, and those of posts run twice: with quick and with slow platforms. Without `core`, those of
    posts run once: with slow platforms if `slow` is set, else with quick ones.
    """
    with run_directory("faults", tell) as run:
        env = {"FAULTS": "core" if core else "full", "TEST_RUN_DIR": str(run)} | _told(slow)
        end = time.monotonic() + (math.inf if "SOAK_MINUTES" in os.environ else FAULTS_SECONDS)
        pytest = [*PYTEST, *arguments]
        parts = [[*pytest, str(FAULTS), *part] for part in ([*ON_TWO, "-m", "not quiet"], ["-m", "quiet"])]
        if paths_of(arguments):
            parts = [pytest]
        try:
            return worst(*[child(part, env, end - time.monotonic()) for part in parts])
        except subprocess.TimeoutExpired:
            tell(f"stopped after {FAULTS_SECONDS / 60:.0f} minutes")
            return 1


def containers(arguments: Sequence[str], core: bool, tell: Tell) -> int:
    """Runs the tests on a container engine, in a network of their own. Needs root.

    Returns pytest's exit code, or NO_ENGINE where this machine cannot run an engine.
    """
    with run_directory("containers", tell) as run:
        run.mkdir()
        paths = [] if paths_of(arguments) else [str(CONTAINERS)]
        env = {"CONTAINERS": "core" if core else "full", "TEST_RUN_DIR": str(run)}
        try:
            packages.provide(tell)
            with network() as enter:
                return child([*enter, *PYTEST, *arguments, *paths], env)
        except NotReady as error:
            tell(f"no container engine can run here: {error}")
            return NO_ENGINE


def worst(*codes: int) -> int:
    """Returns the highest of these exit codes of pytest. The code for a run that found no tests is left out, unless all
    runs found none.
    """
    return max(set(codes) - {NO_TESTS}, default=NO_TESTS)


def bench(arguments: Sequence[str], tell: Tell) -> int:
    """Runs the benchmarks on a stack with the settings of `./dev up`. The benchmark `scale` runs on a PostgreSQL of its
    own instead, and `media --files` on a PostgreSQL and a storage.
    """
    with run_directory("bench", tell) as run:
        if arguments[:1] == ["scale"]:
            argv = [sys.executable, "-W", "ignore", "-m", "bench.scale", *arguments[1:]]
            return child(argv, {"TEST_RUN_DIR": str(run)})
        if arguments[:2] == ["media", "--files"]:
            argv = [sys.executable, "-W", "ignore", "-m", "bench.media_files", *arguments[1:]]
            return child(argv, servers.up(run, tell, owner_pid=os.getpid(), names=("postgres", "s3")))
        return child([sys.executable, "-m", "bench", *arguments], whole(run, tell, durable=True))


def whole(
    run: Path, tell: Tell, *, durable: bool, slow: bool = False, payments: bool = False
) -> dict[str, str]:
    """Starts a whole stack in the run directory. The stack stops when this process ends. Returns the environment
    variables for tests.

    `durable`: committed data survives a crash of the machine. `slow`: the platforms are as slow as the real ones.
    `payments`: credits can be bought.
    """
    Stack(run, durable=durable, usual_ports=False, slow=slow, payments=payments).up(
        tell, owner_pid=os.getpid()
    )
    return servers.test_env(run)


def _told(slow: bool) -> dict[str, str]:
    return {"TEST_SLOW": "1"} if slow else {}


def needs_stack(arguments: Sequence[str]) -> bool:
    """Whether pytest's arguments select tests that call a stack over HTTP; no path means all tests."""
    paths = paths_of(arguments)
    return not paths or any(
        path.is_relative_to(place) or place.is_relative_to(path) for path in paths for place in NEEDS_STACK
    )


def servers_for(paths: Sequence[Path]) -> tuple[str, ...]:
    """Returns the servers that these test files and folders need. Tests in a folder `unit` need no server, tests in a
    folder `store` need PostgreSQL and S3, and all others need RabbitMQ too.
    """
    needed: set[str] = set()
    for path in paths:
        parts = set(path.relative_to(ROOT).parts) if path.is_relative_to(ROOT) else set()
        if "unit" not in parts:
            needed |= {"postgres", "s3"} if "store" in parts else {*servers.ALL}
    return tuple(name for name in servers.ALL if name in needed)


def paths_of(arguments: Sequence[str]) -> list[Path]:
    """Returns those of pytest's arguments that are files or folders."""
    paths = [Path(it.split("::")[0]).resolve() for it in arguments if not it.startswith("-")]
    return [path for path in paths if path.exists()]


@contextmanager
def run_directory(kind: str, tell: Tell) -> Iterator[Path]:
    """Yields the path of a run directory that is not used yet. After the block, even if the block failed, stops every
    process of this directory. The logs stay until a later run of the same kind removes the directory.
    """
    RUN_TEST.mkdir(exist_ok=True)
    for old in RUN_TEST.glob(f"{kind}-[0-9]*"):
        if supervisor_pid(old) is None and not psutil.pid_exists(int(old.name.rpartition("-")[2])):
            Stack(old).remove()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(143))
    run = RUN_TEST / f"{kind}-{os.getpid()}"
    try:
        yield run
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C must not interrupt the clean-up
        stacks = [run, run / SERVERS, *run.glob("gw[0-9]*")]  # of a worker: one of its own
        for each in stacks:
            Stack(each).down()
        end_leftovers(run, tell)
        for each in stacks:
            postgres.remove(each)
            for server in ("rabbitmq", "docker"):
                shutil.rmtree(each / server, ignore_errors=True)


def child(argv: list[str], env: dict[str, str], seconds: float | None = None) -> int:
    """Runs a command in the foreground and returns its exit code. If we are interrupted, ends the command. Raises
    TimeoutExpired, and ends the command, after `seconds`.
    """
    process = subprocess.Popen(bound_to_parent(argv, signal.SIGTERM), cwd=ROOT, env=os.environ | env)
    try:
        return process.wait(seconds)
    except BaseException:
        with suppress(subprocess.TimeoutExpired):
            process.terminate()
            process.wait(20)
        process.kill()
        raise


def end_leftovers(run: Path, tell: Tell) -> None:
    """Kills the processes that tests have left running: those whose environment variable TEST_RUN_DIR is the run
    directory or a folder in it.
    """
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            own = Path(process.environ().get("TEST_RUN_DIR", "")).is_relative_to(run)
            if own and process.pid != os.getpid():
                tell(f"left behind by a test, killed: {' '.join(process.cmdline())[:120]}")
                process.kill()
