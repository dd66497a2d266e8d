"""`./dev test` and `./dev bench`: a stack of its own for one run, and nothing left of it afterwards."""

import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from local.paths import ROOT, RUN_TEST
from local.processes.table import bound_to_parent, supervisor_pid
from local.stack.stack import Stack, Tell
from local.testing import servers

PYTEST = [sys.executable, "-m", "pytest"]
#: A file on one process, files in the order of collection (conftest.py: the longest first).
BY_FILE = ["--dist", "loadfile", "--no-loadscope-reorder"]
ON_TWO = ["-n", "2", *BY_FILE]
#: Where they share a stack: on two cores a third of the time is spent waiting.
ON_THREE = ["-n", "3", *BY_FILE]
#: The second of the two, as pytest-xdist calls it: its run directory, if it has one of its own.
SECOND = "gw1"
#: pytest's exit code when nothing was chosen.
NO_TESTS = 5
#: What asks the running stack over HTTP; a run that names none of these gets servers alone.
NEEDS_STACK = (ROOT / "tests",)
#: Tests that start a stack of their own, over links that fail; and how long they may take in all.
FAULTS = ROOT / "tests" / "e2e" / "faults"
FAULTS_SECONDS = 1200.0


def test(arguments: Sequence[str], tell: Tell) -> int:
    """Run pytest with `arguments`; its exit code.

    Everything (no path among them) runs on several processes, a file on one of them: on three what shares a stack, then
    on two what is marked `alone`, each with a stack of its own. With --faults the tests under faults instead, with
    --core a small part of each. With --slow the platforms take as long as the real ones, and tests wait longer.
    """
    ours = {"--faults", "--core", "--slow"} & {*arguments}
    arguments, slow = [it for it in arguments if it not in ours], "--slow" in ours
    if "--faults" in ours:
        return faults(arguments, "--core" in ours, slow, tell)
    with run_directory("test", tell) as run:
        if needs_stack(arguments):
            env = whole(run, tell, durable=False, slow=slow) | _told(slow)
        else:
            env = servers.up(run, tell, owner_pid=os.getpid())
        pytest = [*PYTEST, *arguments]
        if paths_of(arguments):
            return child(pytest, env)
        together = child([*pytest, *ON_THREE, "-m", "not alone"], env)
        whole(run / SECOND, tell, durable=False, slow=slow)
        return worst(together, child([*pytest, *ON_TWO, "-m", "alone"], env))


def faults(arguments: Sequence[str], core: bool, slow: bool, tell: Tell) -> int:
    """Run the tests under faults; pytest's exit code, 1 when their time is up.

    In full on two processes, each with a stack of its own; those marked `quiet` afterwards by themselves. `slow`: the
    posts under faults meet slow platforms, which the core has them do besides.
    """
    with run_directory("faults", tell) as run:
        env = {"FAULTS": "core" if core else "full", "TEST_RUN_DIR": str(run)} | _told(slow)
        end = time.monotonic() + (math.inf if "SOAK_MINUTES" in os.environ else FAULTS_SECONDS)
        pytest = [*PYTEST, *arguments]
        if paths_of(arguments):
            parts = [pytest]
        elif core:
            parts = [[*pytest, str(FAULTS)]]
        else:
            parts = [
                [*pytest, str(FAULTS), *part] for part in ([*ON_TWO, "-m", "not quiet"], ["-m", "quiet"])
            ]
        try:
            return worst(*[child(part, env, end - time.monotonic()) for part in parts])
        except subprocess.TimeoutExpired:
            tell(f"stopped after {FAULTS_SECONDS / 60:.0f} minutes")
            return 1


def worst(*codes: int) -> int:
    """Of pytest's exit codes. That one part of several chose nothing is no failure."""
    return max(set(codes) - {NO_TESTS}, default=NO_TESTS)


def bench(arguments: Sequence[str], tell: Tell) -> int:
    """Run the benchmarks on a stack with the settings of `./dev up`; `scale` on a PostgreSQL of its own alone."""
    with run_directory("bench", tell) as run:
        if arguments[:1] == ["scale"]:
            argv = [sys.executable, "-W", "ignore", "-m", "bench.scale", *arguments[1:]]
            return child(argv, {"TEST_RUN_DIR": str(run)})
        return child([sys.executable, "-m", "bench", *arguments], whole(run, tell, durable=True))


def whole(run: Path, tell: Tell, *, durable: bool, slow: bool = False) -> dict[str, str]:
    """Start a whole stack; what the tests are told about it."""
    Stack(run, durable=durable, usual_ports=False, slow=slow).up(tell, owner_pid=os.getpid())
    return servers.test_env(run)


def _told(slow: bool) -> dict[str, str]:
    return {"TEST_SLOW": "1"} if slow else {}


def needs_stack(arguments: Sequence[str]) -> bool:
    """Whether the paths among pytest's arguments reach tests that go through HTTP; no path means all."""
    paths = paths_of(arguments)
    return not paths or any(
        path.is_relative_to(place) or place.is_relative_to(path) for path in paths for place in NEEDS_STACK
    )


def paths_of(arguments: Sequence[str]) -> list[Path]:
    """The files and folders among pytest's arguments."""
    paths = [Path(it.split("::")[0]).resolve() for it in arguments if not it.startswith("-")]
    return [path for path in paths if path.exists()]


@contextmanager
def run_directory(kind: str, tell: Tell) -> Iterator[Path]:
    """A fresh run directory. At the end, however it comes, everything in it is stopped; the logs stay."""
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
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C must not leave half of it running
        stacks = [run, *run.glob("gw[0-9]*")]  # of a worker: one of its own
        for each in stacks:
            Stack(each).down()
        end_leftovers(run, tell)
        for each in stacks:
            for heavy in ("pgdata", "rabbitmq"):
                Stack(each / heavy).remove()


def child(argv: list[str], env: dict[str, str], seconds: float | None = None) -> int:
    """Run in the foreground; its exit code. Interrupted, the child ends first. Raises TimeoutExpired."""
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
    """Kill what a test started and forgot: it carries the run directory, or one in it, in its environment."""
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            own = Path(process.environ().get("TEST_RUN_DIR", "")).is_relative_to(run)
            if own and process.pid != os.getpid():
                tell(f"left behind by a test, killed: {' '.join(process.cmdline())[:120]}")
                process.kill()
