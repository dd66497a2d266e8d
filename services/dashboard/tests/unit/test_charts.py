"""Bar charts, as the coordinates of their bars."""

import pytest

from dashboard import charts


@pytest.mark.parametrize(
    ("most", "top"), [(0, 2), (2, 2), (3, 4), (9, 10), (11, 20), (95, 100), (2001, 4000)]
)
def test_the_scale_ends_at_a_round_figure(most: int, top: int) -> None:
    assert charts.nice_top(most) == top


def test_the_parts_of_a_day_stand_on_each_other_and_days_without_use_have_none() -> None:
    chart = charts.bars(["1 Nov", "2 Nov"], [{"good": 6, "bad": 4}, {"good": 0, "bad": 0}], ["a", "b"])
    good, bad = chart.parts
    assert (good.kind, bad.kind, good.x) == ("good", "bad", bad.x)
    assert bad.y + bad.height == pytest.approx(good.y)
    assert good.height / bad.height == pytest.approx(1.5, rel=0.01)
    assert [text for _, text in chart.lines] == ["0", "5", "10"]
    assert [text for _, _, text in chart.columns] == ["a", "b"]


def test_a_month_has_a_label_each_week_and_everything_stays_inside() -> None:
    days = [str(day) for day in range(30)]
    chart = charts.bars(days, [{"good": day} for day in range(30)], days)
    assert [text for _, text in chart.labels] == ["1", "8", "15", "22", "29"]
    assert all(it.x >= 0 and it.x + it.width <= charts.WIDTH for it in chart.parts)
    assert all(it.y >= 0 and it.y + it.height <= charts.HEIGHT for it in chart.parts)


def test_without_days_there_is_nothing_to_draw() -> None:
    assert charts.bars([], [], []).parts == []
