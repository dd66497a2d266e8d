"""Guardrails: no window ever holds too many posts, and the next allowed time is the earliest possible one."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from contracts.errors import BRAND_PUBLISH_GUARDRAIL, PAGE_PUBLISH_GUARDRAIL
from publishing.rules.guardrails import BRAND_WINDOW, Window, first_fit, full, judge, page_windows, too_close

START = datetime(2026, 11, 20, tzinfo=UTC)
minutes = st.integers(0, 400).map(lambda n: START + timedelta(minutes=n))
windows = st.builds(Window, cap=st.integers(1, 5), seconds=st.integers(1, 90).map(lambda n: n * 60))


def crowd(times: list[datetime], window: Window) -> int:
    """Returns the largest number of posts in any window of that length."""
    span = timedelta(seconds=window.seconds)
    return max((sum(first <= at < first + span for at in times) for first in times), default=0)


def build(asked: list[datetime], window: Window) -> list[datetime]:
    """Places posts one after another, each at the first allowed time from its wanted time on."""
    placed: list[datetime] = []
    for at in asked:
        placed.append(first_fit(at, full(placed, window)))
    return placed


@given(st.lists(minutes, max_size=40), windows)
def test_no_window_ever_holds_more_than_its_cap(asked: list[datetime], window: Window) -> None:
    assert crowd(build(asked, window), window) <= window.cap


@given(st.lists(minutes, max_size=40), windows, minutes)
def test_the_next_allowed_time_is_the_first_that_fits(
    asked: list[datetime], window: Window, at: datetime
) -> None:
    placed = build(asked, window)
    fit = first_fit(at, full(placed, window))
    assert fit >= at
    assert crowd([*placed, fit], window) <= window.cap
    earlier = at
    while earlier < fit:
        assert crowd([*placed, earlier], window) > window.cap
        earlier += timedelta(minutes=1)


@given(st.lists(minutes, max_size=60), minutes)
def test_the_gap_holds_against_every_scheduled_post(scheduled: list[datetime], at: datetime) -> None:
    fit = first_fit(at, too_close(scheduled))
    assert all(abs(fit - other) >= timedelta(seconds=60) for other in scheduled)


@given(st.lists(minutes, max_size=30), st.lists(minutes, max_size=20), minutes)
def test_a_judged_time_breaks_none_of_the_rules_together(
    page: list[datetime], scheduled: list[datetime], at: datetime
) -> None:
    placed = []
    for asked in page:
        breach = judge(asked, "LN", page=placed, brand=[])
        placed.append(breach.next_allowed_at if breach else asked)
    breach = judge(at, "LN", page=placed, brand=[], scheduled=scheduled)
    fit = breach.next_allowed_at if breach else at
    assert all(crowd([*placed, fit], window) <= window.cap for window in page_windows("LN"))
    assert all(abs(fit - other) >= timedelta(seconds=60) for other in scheduled)


def test_the_eleventh_post_of_an_hour_waits_until_the_first_leaves_the_window() -> None:
    page = [START + timedelta(minutes=n) for n in range(10)]
    breach = judge(START + timedelta(minutes=30), "FB", page=page, brand=[])
    assert breach is not None
    assert (breach.row, breach.next_allowed_at) == (PAGE_PUBLISH_GUARDRAIL, START + timedelta(hours=1))


def test_the_page_is_named_before_the_brand() -> None:
    brand = [START - timedelta(seconds=n) for n in range(BRAND_WINDOW.cap)]
    breach = judge(START, "FB", page=[], brand=brand)
    assert breach is not None
    assert breach.row is BRAND_PUBLISH_GUARDRAIL
    breach = judge(START, "FB", page=brand[:10], brand=brand)
    assert breach is not None
    assert breach.row is PAGE_PUBLISH_GUARDRAIL


def test_a_platform_without_a_cap_has_none() -> None:
    assert judge(START, "YT", page=[START] * 400, brand=[]) is None
