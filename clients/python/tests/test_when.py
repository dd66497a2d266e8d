"""Times as people write them, in their time zone, including those where clocks change."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from posthaste.cli.when import NotATime, parse

BERLIN = ZoneInfo("Europe/Berlin")
#: A Tuesday, 11:30 in Berlin.
NOW = datetime(2026, 11, 24, 10, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("tomorrow 9:00", "2026-11-25T09:00:00+01:00"),
        ("Tomorrow at 9am", "2026-11-25T09:00:00+01:00"),
        ("today 12:15", "2026-11-24T12:15:00+01:00"),
        ("14:30", "2026-11-24T14:30:00+01:00"),
        ("9:00", "2026-11-25T09:00:00+01:00"),
        ("fri 14:30", "2026-11-27T14:30:00+01:00"),
        ("tuesday 11:00", "2026-12-01T11:00:00+01:00"),
        ("tue 11:45", "2026-11-24T11:45:00+01:00"),
        ("12am", "2026-11-25T00:00:00+01:00"),
        ("12 pm", "2026-11-24T12:00:00+01:00"),
        ("in 2 hours", "2026-11-24T13:30:00+01:00"),
        ("in 90m", "2026-11-24T13:00:00+01:00"),
        ("in 1 week", "2026-12-01T11:30:00+01:00"),
        ("2026-12-01 09:00", "2026-12-01T09:00:00+01:00"),
        ("2026-12-01T09:00", "2026-12-01T09:00:00+01:00"),
        ("2026-12-01T09:00Z", "2026-12-01T09:00:00+00:00"),
        ("2026-12-01T09:00:00-05:00", "2026-12-01T09:00:00-05:00"),
        ("2027-07-01 09:00", "2027-07-01T09:00:00+02:00"),
    ],
)
def test_a_time_is_meant_in_the_zone(text: str, moment: str) -> None:
    assert parse(text, NOW, BERLIN).isoformat() == moment


def test_a_time_that_clocks_skip_is_refused() -> None:
    with pytest.raises(NotATime, match="does not exist"):
        parse("2027-03-28 02:30", NOW, BERLIN)


def test_a_time_that_comes_twice_names_both() -> None:
    with pytest.raises(NotATime, match=r"2026-10-25T02:30\+02:00 or 2026-10-25T02:30\+01:00"):
        parse("2026-10-25 02:30", NOW, BERLIN)


@pytest.mark.parametrize(
    "text", ["", "soon", "tomorrow", "tomorrow 25:00", "9", "13pm", "2026-12-01", "t 9:00"]
)
def test_what_is_no_time_is_told_with_an_example(text: str) -> None:
    with pytest.raises(NotATime):
        parse(text, NOW, BERLIN)


def test_without_a_zone_this_machine_s_is_meant() -> None:
    expected = datetime(2026, 12, 1, 9).astimezone()
    assert parse("2026-12-01 09:00", NOW, None) == expected
