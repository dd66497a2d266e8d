"""Times: read in the zone that a person chose and shown with its name. A time that a change of clocks skips or repeats
is refused.
"""

from datetime import UTC, datetime

import pytest

from dashboard import times


def test_a_time_is_read_in_the_zone_that_was_chosen() -> None:
    assert times.read("2026-12-01", "09:00", "Europe/Berlin") == datetime(2026, 12, 1, 8, tzinfo=UTC)
    assert times.read("2026-07-01", "09:00", "America/New_York") == datetime(2026, 7, 1, 13, tzinfo=UTC)


@pytest.mark.parametrize(
    ("time", "reason"), [("02:30", "does not exist on that day in Europe/Berlin"), ("03:00", "")]
)
def test_a_time_that_clocks_jump_over_is_refused(time: str, reason: str) -> None:
    if reason:
        with pytest.raises(times.TimeRefused, match=reason):
            times.read("2026-03-29", time, "Europe/Berlin")
    else:
        assert times.read("2026-03-29", time, "Europe/Berlin") == datetime(2026, 3, 29, 1, tzinfo=UTC)


def test_a_time_that_comes_twice_is_refused() -> None:
    with pytest.raises(times.TimeRefused, match="comes twice"):
        times.read("2026-10-25", "02:30", "Europe/Berlin")


@pytest.mark.parametrize(
    ("date", "time", "zone"),
    [
        ("", "", "UTC"),
        ("2026-13-01", "09:00", "UTC"),
        ("2026-12-01", "09:00+02:00", "UTC"),
        ("2026-12-01", "09:00", "../etc/passwd"),
        ("9999-12-31", "23:59", "America/New_York"),
        ("0001-01-01", "00:00", "Asia/Tokyo"),
    ],
)
def test_what_is_no_time_is_refused_in_words(date: str, time: str, zone: str) -> None:
    with pytest.raises(times.TimeRefused, match="Choose a date"):
        times.read(date, time, zone)


def test_a_time_is_shown_in_a_zone_and_an_unknown_zone_is_utc() -> None:
    at = datetime(2026, 11, 27, 8, 5, tzinfo=UTC)
    assert times.shown(at, "Europe/Berlin") == "Fri, 27 Nov 2026, 09:05"
    assert times.shown(at, "Nowhere/Land") == "Fri, 27 Nov 2026, 08:05"
    assert [times.offset(at, zone) for zone in ("Europe/Berlin", "America/St_Johns", "UTC")] == [
        *("UTC+1", "UTC−3:30", "UTC"),
    ]


def test_a_form_begins_with_a_full_hour_of_its_zone() -> None:
    now = datetime(2026, 11, 27, 8, 40, tzinfo=UTC)
    assert times.proposed(now, "Europe/Berlin") == ("2026-11-27", "11:00")
    assert times.proposed(now, "Asia/Kolkata") == ("2026-11-27", "15:00")
