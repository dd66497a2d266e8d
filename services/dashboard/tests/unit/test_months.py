"""The month of a calendar."""

from datetime import UTC, date, datetime

import pytest

from dashboard.months import Month

NOW = datetime(2026, 11, 30, 23, 30, tzinfo=UTC)


def test_a_month_is_shown_in_whole_weeks_from_monday() -> None:
    days = Month(2026, 11, "UTC").days
    assert (days[0], days[-1], len(days)) == (date(2026, 10, 26), date(2026, 12, 6), 42)
    assert len(Month(2027, 2, "UTC").days) == 28  # begins on a Monday, ends on a Sunday


def test_the_present_month_is_that_of_the_zone() -> None:
    assert Month.read("", "Europe/Berlin", NOW).text == "2026-12"
    assert Month.read("", "America/New_York", NOW).text == "2026-11"


@pytest.mark.parametrize("text", ["", "x", "2026-13", "0001-01", "9999-12", "2026-12-01"])
def test_what_is_no_month_is_the_present_one(text: str) -> None:
    assert Month.read(text, "UTC", NOW).text == "2026-11"


def test_months_follow_each_other_over_the_end_of_a_year() -> None:
    december = Month.read("2026-12", "UTC", NOW)
    assert [december.moved(by).text for by in (-12, -1, 1)] == ["2025-12", "2026-11", "2027-01"]
    assert december.name == "December 2026"


def test_a_day_begins_at_midnight_of_the_zone_also_where_clocks_change() -> None:
    begin, end = Month(2026, 3, "Europe/Berlin").bounds
    assert begin == datetime(2026, 2, 22, 23, tzinfo=UTC)
    assert end == datetime(2026, 4, 5, 22, tzinfo=UTC)
    assert Month(2026, 3, "Asia/Tokyo").day_of(datetime(2026, 3, 1, 16, tzinfo=UTC)) == date(2026, 3, 2)


def test_a_span_is_a_part_of_the_month_in_its_zone() -> None:
    month = Month(2026, 12, "Europe/Berlin")
    assert month.span("", "") == month.bounds
    assert month.span("2026-12-10", "2026-12-12") == (
        datetime(2026, 12, 9, 23, tzinfo=UTC),
        datetime(2026, 12, 12, 23, tzinfo=UTC),
    )
    assert month.span("1990-01-01", "2190-01-01") == month.bounds
    assert month.span("no day", "0001-01-01") == month.bounds
