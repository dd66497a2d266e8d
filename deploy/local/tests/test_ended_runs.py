"""A run of pytest that is ended before its time has said which tests failed."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from local.paths import ROOT

FAILS = """
import time

def test_breaks():
    assert 1 + 1 == 3, "sums are wrong"

def test_hangs():
    print("hangs", flush=True)
    time.sleep(60)
"""


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
