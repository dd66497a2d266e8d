"""What was measured: printed at the end of a run, and kept beside its logs."""

import json
from pathlib import Path
from typing import Any


class Figures:
    """One line for each test: what it proved, with its figures."""

    def __init__(self, path: Path, size: str) -> None:
        self._path = path
        self.rows: dict[str, Any] = {"size": size}

    def note(self, test: str, **figures: Any) -> None:
        self.rows[test] = figures
        self._path.write_text(json.dumps(self.rows, indent=1, ensure_ascii=False))

    def lines(self) -> list[str]:
        tests = ((test, figures) for test, figures in self.rows.items() if isinstance(figures, dict))
        return [
            f"{test}: " + ", ".join(f"{name} {value}" for name, value in figures.items())
            for test, figures in tests
        ]
