"""Shows the state of a run directory: follows its logs, and lists its processes with state and memory."""

import time
from collections.abc import Iterator
from pathlib import Path

import psutil

from local.processes.table import read_state, supervisor_pid


def follow(run: Path, names: list[str], *, from_end: bool = False) -> Iterator[str]:
    """Yields the lines of the named logs (without names: of all logs) as they are written, each with the log's name.
    Never ends.
    """
    offsets: dict[Path, int] = {}
    first = True
    while True:
        quiet = True
        for path in sorted((run / "logs").glob("*.log")):
            if names and path.stem not in names:
                continue
            size = path.stat().st_size
            offset = offsets.setdefault(path, size if first and from_end else 0)
            if size < offset:
                offset = 0  # the log was renamed, and a new one begun
            if size == offset:
                continue
            with path.open("rb") as file:
                file.seek(offset)
                text = file.read(size - offset)
            whole = text[: text.rfind(b"\n") + 1]
            offsets[path] = offset + len(whole)
            for line in whole.decode(errors="replace").splitlines():
                quiet = False
                yield f"{path.stem:<12} │ {line}"
        first = False
        if quiet:
            time.sleep(0.2)


def status(run: Path) -> list[dict[str, object]]:
    """Returns a row for each process: name, state, pid, starts, and the memory (PSS, in bytes) of the process and its
    children.
    """
    rows = []
    for name, row in read_state(run).items():
        rows.append({"name": name, **row, "memory_bytes": memory_bytes(row["pid"]) if row["pid"] else 0})
    if pid := supervisor_pid(run):
        own = psutil.Process(pid).memory_full_info().pss
        rows.append({"name": "supervisor", "state": "ready", "pid": pid, "starts": 1, "memory_bytes": own})
    return rows


def memory_bytes(pid: object) -> int:
    """Returns the proportional set size (PSS) of a process and all its descendants in bytes; 0 if the process has
    ended.
    """
    total = 0
    try:
        process = psutil.Process(int(str(pid)))
        for one in [process, *process.children(recursive=True)]:
            total += one.memory_full_info().pss
    except psutil.Error:
        pass
    return total
