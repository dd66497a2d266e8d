"""Rate windows are aligned to UTC, have no gaps between them, and give the correct time to wait."""

from datetime import UTC, datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from quota import windows

moments = st.datetimes(
    min_value=datetime(2000, 1, 1), max_value=datetime(2199, 12, 31), timezones=st.just(UTC)
).map(lambda moment: moment.replace(microsecond=moment.microsecond // 1000 * 1000))


@given(moments)
def test_a_moment_lies_in_its_minute_and_before_its_end(now: datetime) -> None:
    assert windows.minute_of(now) <= now < windows.minute_ends_at(now)
    assert windows.minute_ends_at(now) - windows.minute_of(now) == timedelta(minutes=1)
    assert windows.minute_of(windows.minute_ends_at(now)) == windows.minute_ends_at(now)


@given(moments)
def test_day_and_month_end_exactly_where_the_next_ones_begin(now: datetime) -> None:
    last_moment = timedelta(milliseconds=1)
    for of, ends_at in ((windows.day_of, windows.day_ends_at), (windows.month_of, windows.month_ends_at)):
        end = ends_at(now)
        assert of(end - last_moment) == of(now)
        assert of(end) != of(now)


@given(moments, st.integers(min_value=1, max_value=10**9))
def test_who_waits_the_seconds_is_never_too_early_and_at_most_a_second_late(now: datetime, wait: int) -> None:
    moment = now + timedelta(milliseconds=wait)
    waited = now + timedelta(seconds=windows.seconds_until(moment, now))
    assert moment <= waited < moment + timedelta(seconds=1)


def test_a_window_that_has_just_ended_still_asks_for_a_second() -> None:
    now = datetime(2026, 11, 20, 12, tzinfo=UTC)
    assert windows.seconds_until(now, now) == 1


def test_windows_are_utc_whatever_the_zone_of_the_moment() -> None:
    tokyo = datetime(2027, 1, 1, 3, 30, tzinfo=timezone(timedelta(hours=9)))
    assert windows.month_of(tokyo) == "2026-12"
    assert windows.day_ends_at(tokyo) == datetime(2027, 1, 1, tzinfo=UTC)
    assert windows.month_ends_at(tokyo) == datetime(2027, 1, 1, tzinfo=UTC)


def test_the_month_after_a_january_31st_is_february() -> None:
    assert windows.month_ends_at(datetime(2027, 1, 31, tzinfo=UTC)) == datetime(2027, 2, 1, tzinfo=UTC)
