"""The supervisor with real processes, which are small shell and Python programs."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from local.processes.table import (
    NotReady,
    Process,
    read_state,
    start_supervisor,
    stop_supervisor,
    supervisor_pid,
    wait_ready,
    write_table,
)

SLEEPER = ["sleep", "1000"]
#: Answers 200 until the file `ill` is there, then 503.
PATIENT = """
import http.server, pathlib, sys
class Health(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(503 if pathlib.Path(sys.argv[2]).exists() else 200)
        self.end_headers()
    def log_message(self, *_): pass
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Health).serve_forever()
"""


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    stop_supervisor(tmp_path)


def start(run: Path, *table: Process, owner_pid: int | None = None) -> None:
    write_table(run, list(table))
    start_supervisor(run, owner_pid=owner_pid)
    wait_ready(run, seconds=20, tell=lambda _: None)


def until(what: Callable[[], object], seconds: float = 60.0) -> None:
    tick, end = threading.Event(), time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "it did not come about"
        tick.wait(0.02)


def pid(run: Path, name: str) -> int:
    return int((run / "pids" / name).read_text())


def is_gone(number: int) -> bool:
    try:
        return bool(psutil.Process(number).status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


def test_a_killed_process_is_started_again_within_a_second(run: Path) -> None:
    start(run, Process("sleeper", SLEEPER))
    first = pid(run, "sleeper")
    os.kill(first, signal.SIGKILL)
    killed_at = time.monotonic()
    until(lambda: pid(run, "sleeper") != first and read_state(run)["sleeper"]["state"] == "ready")
    assert time.monotonic() - killed_at < 1.0


def test_the_workers_of_a_killed_process_do_not_outlive_it(run: Path) -> None:
    start(run, Process("master", ["sh", "-c", f"sleep 1000 & echo $! > {run}/worker; wait"]))
    until(lambda: (run / "worker").exists() and (run / "worker").read_text().strip())
    worker = int((run / "worker").read_text())
    os.kill(pid(run, "master"), signal.SIGKILL)
    until(lambda: is_gone(worker))


def test_a_process_that_stays_unhealthy_is_started_again(run: Path, free_port: int) -> None:
    argv = [sys.executable, "-c", PATIENT, str(free_port), str(run / "ill")]
    start(run, Process("patient", argv, check=f"http://127.0.0.1:{free_port}/healthz"))
    first = pid(run, "patient")
    (run / "ill").touch()
    until(lambda: pid(run, "patient") != first)
    (run / "ill").unlink()
    until(lambda: read_state(run)["patient"]["state"] == "ready")


def test_nothing_starts_before_what_it_depends_on_is_done(run: Path) -> None:
    first = Process("first", ["sh", "-c", f"echo first >> {run}/order"], once=True)
    second = Process("second", ["sh", "-c", f"echo second >> {run}/order"], once=True, depends=["first"])
    start(run, second, first)
    assert (run / "order").read_text().split() == ["first", "second"]


def test_a_step_that_failed_is_tried_again(run: Path) -> None:
    start(
        run,
        Process("step", ["sh", "-c", f"test -e {run}/tried || {{ touch {run}/tried; exit 1; }}"], once=True),
    )
    assert read_state(run)["step"]["starts"] == 2


def test_a_process_that_never_starts_is_reported_with_the_end_of_its_log(run: Path) -> None:
    with pytest.raises(NotReady, match="no such luck"):
        start(run, Process("hopeless", ["sh", "-c", "echo no such luck; exit 3"], check="tcp:127.0.0.1:1"))


def test_a_program_that_does_not_exist_is_reported(run: Path) -> None:
    with pytest.raises(NotReady, match="/nowhere/program"):
        start(run, Process("hopeless", ["/nowhere/program"], check="tcp:127.0.0.1:1"))


def test_stopping_ends_dependents_before_what_they_need(run: Path) -> None:
    def noisy(name: str) -> list[str]:
        return [
            "sh",
            "-c",
            f"trap 'echo {name} >> {run}/order; exit' TERM; touch {run}/{name}; sleep 1000 & wait",
        ]

    start(run, Process("server", noisy("server")), Process("client", noisy("client"), depends=["server"]))
    until(lambda: (run / "server").exists() and (run / "client").exists())
    assert stop_supervisor(run)
    assert (run / "order").read_text().split() == ["client", "server"]
    assert list((run / "pids").iterdir()) == []


def test_a_process_deaf_to_the_stop_signal_is_killed(run: Path) -> None:
    deaf = ["sh", "-c", f"trap '' TERM; touch {run}/deaf; while :; do sleep 1000; done"]
    start(run, Process("deaf", deaf, stop_seconds=0.3))
    until(lambda: (run / "deaf").exists())
    number = pid(run, "deaf")
    stop_supervisor(run)
    assert is_gone(number)


def test_children_do_not_outlive_a_killed_supervisor(run: Path) -> None:
    start(run, Process("sleeper", SLEEPER))
    child, supervisor = pid(run, "sleeper"), supervisor_pid(run)
    assert supervisor is not None
    os.kill(supervisor, signal.SIGKILL)
    until(lambda: is_gone(child))


def test_everything_stops_when_the_owner_is_gone(run: Path) -> None:
    with subprocess.Popen(SLEEPER) as owner:
        start(run, Process("sleeper", SLEEPER), owner_pid=owner.pid)
        child = pid(run, "sleeper")
        owner.kill()
    until(lambda: is_gone(child) and supervisor_pid(run) is None)


def test_a_second_supervisor_leaves_the_first_alone(run: Path) -> None:
    start(run, Process("sleeper", SLEEPER))
    before = pid(run, "sleeper"), supervisor_pid(run)
    done = subprocess.run([sys.executable, "-m", "local.processes.supervisor", str(run)], capture_output=True)
    assert done.returncode == 1
    assert (pid(run, "sleeper"), supervisor_pid(run)) == before


def test_a_lock_file_left_by_a_dead_supervisor_is_nobody(run: Path) -> None:
    (run / "supervisor.lock").write_text(str(os.getpid()))
    assert supervisor_pid(run) is None


def test_the_table_tells_whether_it_changed_and_is_private(run: Path) -> None:
    table = [Process("sleeper", SLEEPER, {"KEY": "secret"})]
    assert write_table(run, table)
    assert not write_table(run, table)
    assert write_table(run, [Process("sleeper", SLEEPER, {"KEY": "other"})])
    assert (run / "processes.json").stat().st_mode & 0o077 == 0
    assert json.loads((run / "processes.json").read_text())[0]["env"] == {"KEY": "other"}
