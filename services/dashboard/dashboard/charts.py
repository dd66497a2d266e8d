"""Computes a bar chart as coordinates for inline SVG: one bar per day, whose parts are stacked. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

#: The size of the drawing, which scales with its place on the page.
WIDTH, HEIGHT = 400, 180
#: Room for the scale, for half of the last label, for the days, and for a figure above the highest bar.
_LEFT, _RIGHT, _BOTTOM, _TOP = 44, 20, 26, 20
#: Space between two bars, as a part of the place of one.
_GAP = 0.25
#: Days between two labels, so that those of a month do not touch.
_LABEL_EVERY = 7
#: So many bars have their figure above them; the figures of more would touch.
_MOST_FIGURES = 8


@dataclass(frozen=True)
class Part:
    """A rectangle in a bar chart: the part of a day's bar that stands for the things of one kind."""

    kind: str
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Chart:
    """The shapes and texts of a bar chart. A label below a bar is (x, text); a line of the scale is (y, text)."""

    parts: list[Part]
    labels: list[tuple[float, str]]
    lines: list[tuple[float, str]]
    #: Day → what a pointer shows, with the place of its column: (x, width, text).
    columns: list[tuple[float, float, str]]
    #: The sum of a day above its bar, if there are few: (x, y, text).
    figures: list[tuple[float, float, str]]


def bars(days: Sequence[str], values: Sequence[dict[str, int]], told: Sequence[str]) -> Chart:
    """Returns a chart with one bar per day.

    `values`: for each day a mapping kind → count. The parts of the day's bar are stacked in the order of the mapping,
    the first at the bottom. `told`: for each day the text that appears when a pointer rests on its bar.
    """
    top = nice_top(max((sum(one.values()) for one in values), default=0))
    step = (WIDTH - _LEFT - _RIGHT) / max(len(days), 1)
    height = HEIGHT - _BOTTOM - _TOP
    parts, labels, columns, figures = [], [], [], []
    for number, (day, one) in enumerate(zip(days, values, strict=True)):
        left, floor = _LEFT + number * step, float(HEIGHT - _BOTTOM)
        for kind, count in one.items():
            if count:
                tall = count / top * height
                floor -= tall
                width = _round(step * (1 - _GAP))
                parts.append(Part(kind, _round(left + step * _GAP / 2), _round(floor), width, _round(tall)))
        if total := sum(one.values()):
            figures.append((_round(left + step / 2), _round(floor - 5), f"{total:,}"))
        columns.append((_round(left), _round(step), told[number]))
        if (len(days) - 1 - number) % _LABEL_EVERY == 0:
            labels.append((_round(left + step / 2), day))
    lines = [(_round(_TOP + height * (1 - share)), f"{round(top * share):,}") for share in (0.0, 0.5, 1.0)]
    return Chart(parts, labels, lines, columns, figures if len(figures) <= _MOST_FIGURES else [])


def nice_top(most: int) -> int:
    """Returns the top of the scale: the first of the figures 2, 4, 10, 20, 40, 100, … that is at least `most`."""
    size = 1
    while True:
        for factor in (2, 4, 10):
            if most <= size * factor:
                return size * factor
        size *= 10


def _round(number: float) -> float:
    return round(number, 2)
