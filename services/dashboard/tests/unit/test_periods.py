"""The periods of a calendar."""

from datetime import UTC, date, datetime

import pytest

from dashboard.periods import VIEWS, Period

NOW = datetime(2026, 11, 30, 23, 30, tzinfo=UTC)


def month(text: str, zone: str = "UTC") -> Period:
    return Period.read("month", text, zone, NOW)


def test_a_month_is_shown_in_whole_weeks_from_monday_and_as_a_list_by_itself() -> None:
    days = month("2026-11").days
    assert (days[0], days[-1], len(days)) == (date(2026, 10, 26), date(2026, 12, 6), 42)
    assert len(month("2027-02").days) == 28  # begins on a Monday, ends on a Sunday
    days = Period.read("list", "2026-11-20", "UTC", NOW).days
    assert (days[0], days[-1], len(days)) == (date(2026, 11, 1), date(2026, 11, 30), 30)


def test_a_week_begins_on_monday_and_a_day_is_alone() -> None:
    days = Period.read("week", "2026-12-02", "UTC", NOW).days
    assert (days[0], days[-1]) == (date(2026, 11, 30), date(2026, 12, 6))
    assert Period.read("day", "2026-12-02", "UTC", NOW).days == [date(2026, 12, 2)]


def test_the_present_period_is_that_of_the_zone() -> None:
    assert month("", "Europe/Berlin").text == "2026-12-01"
    assert month("", "America/New_York").text == "2026-11-30"


@pytest.mark.parametrize("text", ["", "x", "2026-13", "0001-01", "9999-12", "2026-12-99", "20261201"])
@pytest.mark.parametrize("view", ["", "year", "month"])
def test_what_is_no_day_is_today_and_what_is_no_view_is_the_month(text: str, view: str) -> None:
    assert Period.read(view, text, "UTC", NOW) == Period("month", date(2026, 11, 30), "UTC")


def test_periods_follow_each_other_over_the_end_of_a_year() -> None:
    december = month("2026-12")
    assert [december.moved(by).text for by in (-12, -1, 1)] == ["2025-12-01", "2026-11-01", "2027-01-01"]
    week = Period.read("week", "2026-12-30", "UTC", NOW)
    assert [week.moved(by).text for by in (-1, 1)] == ["2026-12-23", "2027-01-06"]
    assert Period.read("day", "2026-12-31", "UTC", NOW).moved(1).text == "2027-01-01"
    assert month("2026-03-31").moved(-1).text == "2026-02-01"


def test_a_period_has_a_name() -> None:
    names = {view: Period.read(view, "2026-12-30", "UTC", NOW).name for view in VIEWS}
    assert names == {
        "month": "December 2026",
        "list": "December 2026",
        "day": "Wed, 30 Dec 2026",
        "week": "28 Dec 2026\u2009–\u20093 Jan 2027",
    }
    assert Period.read("week", "2026-12-02", "UTC", NOW).name == "30 Nov\u2009–\u20096 Dec 2026"
    assert Period.read("week", "2026-12-09", "UTC", NOW).name == "7–13 Dec 2026"


def test_the_days_of_other_months_are_told_apart_in_a_month_alone() -> None:
    assert not month("2026-12").has(date(2026, 11, 30))
    assert Period.read("week", "2026-12-01", "UTC", NOW).has(date(2026, 11, 30))


def test_a_day_begins_at_midnight_of_the_zone_also_where_clocks_change() -> None:
    march = month("2026-03", "Europe/Berlin")
    assert march.bounds == (datetime(2026, 2, 22, 23, tzinfo=UTC), datetime(2026, 4, 5, 22, tzinfo=UTC))
    assert month("2026-03", "Asia/Tokyo").day_of(datetime(2026, 3, 1, 16, tzinfo=UTC)) == date(2026, 3, 2)
    begin, end = Period.read("day", "2026-03-29", "Europe/Berlin", NOW).bounds
    assert (end - begin).total_seconds() == 23 * 3600


def test_a_span_is_a_part_of_the_period_in_its_zone() -> None:
    december = month("2026-12", "Europe/Berlin")
    assert december.span("", "") == december.bounds
    assert december.span("2026-12-10", "2026-12-12") == (
        datetime(2026, 12, 9, 23, tzinfo=UTC),
        datetime(2026, 12, 12, 23, tzinfo=UTC),
    )
    assert december.span("1990-01-01", "2190-01-01") == december.bounds
    assert december.span("no day", "0001-01-01") == december.bounds


def test_days_without_posts_are_told_as_runs() -> None:
    week = Period.read("week", "2026-11-27", "UTC", NOW)
    taken = {date(2026, 11, 27), date(2026, 11, 28)}
    assert week.gaps(taken) == {
        date(2026, 11, 23): date(2026, 11, 26),
        date(2026, 11, 29): date(2026, 11, 29),
    }
    assert week.gaps(week.days) == {}
