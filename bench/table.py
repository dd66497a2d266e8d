"""A table of results. Each row has a figure, the values it is computed from, the goal, and whether the goal is met."""

from collections.abc import Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Row:
    name: str
    figure: str
    goal: str
    met: bool
    made_of: str = ""
    note: str = ""

    @classmethod
    def ratio(
        cls,
        name: str,
        measured: float,
        floor: float,
        *,
        at_least: float = 0.0,
        at_most: float = 0.0,
        unit: str = "",
    ) -> "Row":
        """Returns a row with the ratio `measured / floor`. Its goal is `at_least` if that is given, otherwise
        `at_most`.
        """
        value = measured / floor if floor else 0.0
        met = value >= at_least if at_least else 0.0 < value <= at_most
        goal = f"≥ {at_least:g}" if at_least else f"≤ {at_most:g}"
        return cls(name, f"{value:.2f}", goal, met, f"{measured:,.2f}{unit} / {floor:,.2f}{unit}")

    @classmethod
    def limit(cls, name: str, measured: float, at_most: float, unit: str) -> "Row":
        return cls(name, f"{measured:,.1f} {unit}", f"≤ {at_most:g} {unit}", measured <= at_most)

    @classmethod
    def count(cls, name: str, measured: int, expected: int) -> "Row":
        return cls(name, f"{measured:,}", f"{expected:,}", measured == expected)

    def noting(self, note: str) -> "Row":
        return replace(self, note=note)


def render(rows: Sequence[Row]) -> str:
    """Returns the table as text with aligned columns."""
    header = ("measure", "figure", "goal", "", "made of")
    lines = [
        (
            row.name,
            row.figure,
            row.goal,
            "" if row.met else "falls short",
            f"{row.made_of} {row.note}".strip(),
        )
        for row in rows
    ]
    widths = [max(len(line[i]) for line in [header, *lines]) for i in range(len(header))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in [header, tuple("-" * width for width in widths), *lines]
    )
