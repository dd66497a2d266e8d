"""Measures how long the stack takes to start, and its memory: the sum of the PSS of all its processes, PostgreSQL,
RabbitMQ and the storage included.
"""

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


def measure_memory(stack: Stack, when: str, goal: float) -> list[Row]:
    """Returns one row for the dashboard and one for the rest of the stack, to which `goal` applies: the goals are
    older than the dashboard.
    """
    from local.processes.watch import status

    by_name = {str(row["name"]): int(str(row["memory_bytes"])) / 2**20 for row in status(stack.run)}
    dashboard = by_name.pop("dashboard")
    return [
        Row.limit(f"memory of the stack {when}, without the dashboard", sum(by_name.values()), goal, "MB"),
        Row.limit(f"memory of the dashboard {when}", dashboard, 90, "MB"),
    ]


def measure_start() -> Row:
    """Measures how long a second stack takes to start in a new folder, as with `./dev up --detach`. That includes the
    creation of its databases.
    """
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
