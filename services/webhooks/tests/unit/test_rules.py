"""What becomes of a delivery, and how many attempts an endpoint may have at once."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhooks.dispatch import rules
from webhooks.dispatch.rules import Standing, judge

WAITS = (30.0, 120.0, 600.0, 1_800.0, 7_200.0)
ACTIVE = Standing(is_active=True, consecutive_failures=0)


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
def test_any_2xx_acknowledges_and_sets_the_count_to_zero(status: int) -> None:
    verdict = judge(status, failures=3, standing=Standing(True, 19), waits=WAITS)
    assert (verdict.state, verdict.standing) == ("delivered", ACTIVE)


@pytest.mark.parametrize("status", [None, 100, 199, 300, 302, 400, 404, 429, 500, 503])
def test_anything_else_is_a_failure_and_is_tried_again(status: int | None) -> None:
    verdict = judge(status, failures=0, standing=ACTIVE, waits=WAITS)
    assert (verdict.state, verdict.wait_seconds) == ("pending", 30.0)
    assert verdict.standing.consecutive_failures == 1


def test_the_waits_follow_the_schedule_and_the_sixth_failure_is_the_last() -> None:
    verdicts = [judge(500, failures=failures, standing=ACTIVE, waits=WAITS) for failures in range(6)]
    assert [verdict.wait_seconds for verdict in verdicts[:5]] == list(WAITS)
    assert [verdict.state for verdict in verdicts] == ["pending"] * 5 + ["failed"]


def test_the_20th_failure_in_a_row_disables_and_the_19th_does_not() -> None:
    standing = ACTIVE
    for number in range(1, 21):
        assert standing.is_active
        standing = judge(500, failures=0, standing=standing, waits=WAITS).standing
        assert standing.is_active == (number < 20)
    assert standing.disabled_reason == rules.FAILING


def test_a_success_in_between_counts_anew() -> None:
    standing = Standing(True, 19)
    standing = judge(200, failures=0, standing=standing, waits=WAITS).standing
    assert judge(500, failures=0, standing=standing, waits=WAITS).standing.is_active


def test_410_disables_at_once_and_the_delivery_has_failed() -> None:
    verdict = judge(410, failures=0, standing=ACTIVE, waits=WAITS)
    assert (verdict.state, verdict.standing.is_active) == ("failed", False)
    assert verdict.standing.disabled_reason == rules.GONE


def test_out_of_a_disabled_subscription_a_delivery_is_tried_once() -> None:
    disabled = Standing(is_active=False, consecutive_failures=20)
    assert judge(500, failures=0, standing=disabled, waits=WAITS).state == "failed"
    assert judge(204, failures=0, standing=disabled, waits=WAITS).state == "delivered"


@given(failures=st.integers(0, 40), seconds=st.floats(0, math.inf), free=st.integers(0, 1_000))
def test_places_never_run_past_the_20th_failure_nor_past_8_and_nobody_has_none(
    failures: int, seconds: float, free: int
) -> None:
    places = rules.places(failures, seconds, free)
    assert 1 <= places <= 8
    assert places <= max(1, 20 - failures)


@given(failures=st.integers(0, 40), acknowledged=st.integers(0, 1_000), most=st.integers(16, 200))
def test_no_more_is_charged_for_than_may_still_be_tried(failures: int, acknowledged: int, most: int) -> None:
    ahead = rules.ahead(failures, acknowledged, most)
    assert 1 <= ahead <= most
    if failures:
        assert ahead <= max(1, 20 - failures)


def test_a_process_short_of_places_gives_each_endpoint_fewer() -> None:
    assert [rules.places(0, math.inf, free) for free in (512, 128, 64, 16, 0)] == [8, 8, 4, 1, 1]


def test_an_endpoint_that_answers_quickly_needs_fewer() -> None:
    assert [rules.places(0, seconds, 512) for seconds in (0.0, 0.049, 0.05, 9.0)] == [6, 6, 8, 8]


def test_what_others_still_get_after_a_minute_is_wanting_at_the_receivers() -> None:
    since = 1_000.0
    last_answers = (-math.inf, since, since + 59, since + 60, since + 3_600)
    assert [rules.wants_alone(since, at) for at in last_answers] == [False, False, False, True, True]


def test_what_goes_on_wanting_is_asked_for_ever_less_often_and_not_for_long() -> None:
    assert [rules.pause_seconds(seconds) for seconds in (-math.inf, 0, 4, 600)] == [1, 1, 4, 15]
