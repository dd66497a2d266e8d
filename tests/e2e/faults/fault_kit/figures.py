"""Records measured figures in a file beside the logs of a run, and prints them at the end of the run."""

import json
from pathlib import Path
from typing import Any

FILE = "figures.json"


class Figures:
    """Writes a line of figures for each test into a file beside the logs."""

    def __init__(self, run: Path, size: str) -> None:
        self._path = run / FILE
        self._rows: dict[str, Any] = {"size": size}

    def note(self, test: str, **figures: Any) -> None:
        self._rows[test] = figures
        self._path.write_text(json.dumps(self._rows, indent=1, ensure_ascii=False))


def lines(run: Path) -> list[str]:
    """Returns the lines that all test processes of this run wrote."""
    tests = [row for path in sorted(run.rglob(FILE)) for row in json.loads(path.read_text()).items()]
    return [
        f"{test}: " + ", ".join(f"{name} {value}" for name, value in figures.items())
        for test, figures in tests
        if isinstance(figures, dict)
    ]
