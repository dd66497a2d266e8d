"""How .ci/run reports the results of its parts, what a run that is ended has said, and `./dev test --containers` on a
machine that can run no engine.
"""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from local.containers import packages
from local.paths import ROOT
from local.processes.table import NotReady
from local.testing import runs

#: Stands for `./dev`: prints what it is told, and ends with the code that the tests of containers are to have. With
#: LASTS it prints once `timeout`, which runs it, waits for it: a signal before that would end `timeout` alone. A signal
#: that meets bash while it starts `sleep` is lost, so `sleep` must not keep the output open.
DEV = """#!/bin/bash
trap 'kill $! 2>/dev/null; exit 143' TERM
[ -z "$LASTS" ] || until grep -q '^State:.S' "/proc/$PPID/status"; do :; done
echo "$*"
case "$*" in
  *--containers*) exit "$CODE" ;;
  *--faults*) [ -z "$LASTS" ] || { sleep 60 &>/dev/null & wait; } ;;
esac
"""
#: A file of tests for a run that is ended.
FAILS = """
import time

def test_breaks():
    assert 1 + 1 == 3, "sums are wrong"

def test_hangs():
    print("hangs", flush=True)
    time.sleep(60)
"""


def test_where_no_engine_can_run_the_exit_code_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def provide(tell: packages.Tell) -> None:
        raise NotReady("no Debian")

    monkeypatch.setattr(packages, "provide", provide)
    monkeypatch.setattr(signal, "signal", lambda *_: None)  # those of a run, which this process is not
    told: list[str] = []
    assert runs.containers([], True, told.append) == 77
    assert told == ["no container engine can run here: no Debian"]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci/run", tmp_path / ".ci/run")
    (tmp_path / "dev").write_text(DEV)
    (tmp_path / "dev").chmod(0o755)
    return tmp_path


def ci(checkout: Path, code: int, lasts: str = "") -> subprocess.Popen[str]:
    return subprocess.Popen(
        ["bash", checkout / ".ci/run"], env={"PATH": os.environ["PATH"], "CODE": str(code), "LASTS": lasts},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("code", "expected", "said"),
    [
        (0, 0, "test --containers --core -q\n"),
        (77, 0, "NOT TESTED: the images and docker-compose.yml"),
        (1, 1, "tests on a container engine failed"),
    ],
)
def test_ci_names_what_it_could_not_test_and_fails_where_a_test_fails(
    checkout: Path, code: int, expected: int, said: str
) -> None:
    process = ci(checkout, code)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == expected
    assert said in output


def test_ci_begins_nothing_more_once_it_is_told_to_end(checkout: Path) -> None:
    process = ci(checkout, 0, lasts="yes")
    assert process.stdout
    while "--faults" not in process.stdout.readline():
        pass
    process.terminate()
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "--containers" not in output
    assert "test -q" not in output


def test_a_run_that_is_ended_has_named_each_failure_and_prints_its_summary(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_bytes((ROOT / "conftest.py").read_bytes())
    (tmp_path / "test_it.py").write_text(FAILS)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    command = [sys.executable, "-m", "pytest", "-q", "-n", "1", "-p", "no:cacheprovider", str(tmp_path)]
    environment = {it: value for it, value in os.environ.items() if not it.startswith("PYTEST_")}
    environment["PYTHONPATH"] = str(ROOT)
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as run:
        assert run.stdout
        early = ""
        while "failed (call)" not in early:
            line = run.stdout.readline()
            assert line, early
            early += line
        run.send_signal(signal.SIGTERM)
        rest = run.communicate(timeout=60)[0]
    assert "test_it.py::test_breaks: AssertionError: sums are wrong" in early
    assert "FAILED" in rest
    assert run.returncode == pytest.ExitCode.INTERRUPTED
