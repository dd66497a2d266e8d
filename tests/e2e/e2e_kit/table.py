"""Compares the table in docs/platforms.md with the results of a test run. With E2E_WRITE_TABLE=1 the run writes the
table.
"""

import os
from pathlib import Path

YES = "yes"
NOT_OFFERED = "not offered by the platform"
#: The platform offers it, but our spec does not ask for it ("Posts": engagement of FB and IG).
NOT_IN_CONTRACT = "not in the contract"

PAGE = Path(__file__).parents[3] / "docs" / "platforms.md"
_BEGIN, _END = "<!-- made by tests/e2e/posts/test_platform_table.py -->\n", "<!-- end of it -->"


class Table:
    """The table: platform name → column → text of the cell."""

    def __init__(self) -> None:
        self._before, _, rest = PAGE.read_text().partition(_BEGIN)
        lines, _, self._after = rest.partition(_END)
        head, _, *rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines.splitlines()]
        self.columns = head[1:]
        self.rows = {row[0]: dict(zip(self.columns, row[1:], strict=True)) for row in rows}

    def check(self, platform: str, column: str, seen: str) -> None:
        """Asserts that a cell has this text. With E2E_WRITE_TABLE=1, writes it into the table first."""
        if os.environ.get("E2E_WRITE_TABLE") == "1":
            self.rows[platform][column] = seen
            self._write()
        assert self.rows[platform][column] == seen, (
            f"{platform}, {column}: docs/platforms.md says otherwise. E2E_WRITE_TABLE=1 writes what was seen"
        )

    def _write(self) -> None:
        rows = [
            ["Platform", *self.columns],
            ["-"] * (1 + len(self.columns)),
            *([name, *cells.values()] for name, cells in self.rows.items()),
        ]
        lines = "".join(f"| {' | '.join(row)} |\n" for row in rows)
        PAGE.write_text(f"{self._before}{_BEGIN}{lines}{_END}{self._after}")
