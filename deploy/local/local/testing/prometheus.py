"""Runs a real Prometheus on this machine, with settings and rules that a test gives."""

import json
import signal
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from local.processes.table import bound_to_parent
from local.servers import ports

START_SECONDS = 30.0
#: `ask("query", query="up")` returns the answer's data. Raises AssertionError with the error message.
Ask = Callable[..., Any]


@contextmanager
def running(program: str, folder: Path, files: Mapping[str, str]) -> Iterator[Ask]:
    """Runs Prometheus in the folder with these files: prometheus.yml, and the files that it names. Yields a function
    that queries it.
    """
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    here = f"127.0.0.1:{ports.any_free()}"
    options = {
        "config.file": folder / "prometheus.yml",
        "storage.tsdb.path": folder,
        "web.listen-address": here,
    }
    argv = [program, *(f"--{name}={value}" for name, value in options.items())]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(bound_to_parent(argv, signal.SIGKILL), stdout=log, stderr=log)
    try:
        end = time.monotonic() + START_SECONDS
        while not _is_ready(f"http://{here}/-/ready"):
            assert process.poll() is None, (folder / "log").read_text()
            assert time.monotonic() < end, (folder / "log").read_text()
            time.sleep(0.05)
        yield lambda path, **query: _answer(f"http://{here}/api/v1/{path}?{urllib.parse.urlencode(query)}")
    finally:
        process.terminate()
        process.wait(20)


def _is_ready(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5):
            return True
    except OSError:
        return False


def _answer(url: str) -> Any:
    try:
        with urllib.request.urlopen(url, timeout=10) as got:
            return json.load(got)["data"]
    except urllib.error.HTTPError as error:
        raise AssertionError(error.read().decode()) from error
