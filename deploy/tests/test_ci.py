"""How .ci/run reports the results of its parts, and `./dev test --containers` on a machine that can run no engine."""

import os
import shutil
import signal
import subprocess
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
  *--core* | lint*) exit 0 ;;
esac
[ -z "$LASTS" ] || { sleep 60 &>/dev/null & wait; }
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
    while "test -q" not in process.stdout.readline():
        pass
    process.terminate()
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "--faults" not in output
    assert "--containers" not in output
