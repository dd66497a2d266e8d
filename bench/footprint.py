"""The stack's cost: seconds until ready, and memory (sum of PSS, servers included)."""

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.stack import Stack
from bench.table import Row

_READY = (
    "from pathlib import Path; from local.stack.stack import Stack; Stack(Path({run!r}), usual_ports=False)"
)


def memory_megabytes(stack: Stack) -> float:
    from local.processes.watch import status

    return sum(int(str(row["memory_bytes"])) for row in status(stack.run)) / 2**20


def measure_start() -> Row:
    """Starts a second stack in a new folder, as `./dev up --detach` does, with its first set-up of data."""
    folder = Path(tempfile.mkdtemp(prefix="posthaste-bench-"))
    make = _READY.format(run=str(folder / "run"))
    began = time.monotonic()
    try:
        subprocess.run([sys.executable, "-c", f"{make}.up(print)"], check=True, capture_output=True)
        seconds = time.monotonic() - began
    finally:
        subprocess.run([sys.executable, "-c", f"{make}.down()"], check=True)
        shutil.rmtree(folder, ignore_errors=True)
    return Row.limit("./dev up when installed, until ready", seconds, 20, "s")
