"""When a delivery is retried, whose fault a failure is, and how many attempts an endpoint may have in flight."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhooks.dispatch import endpoint_queue as rules
from webhooks.dispatch.attempt import is_acknowledged, retry_wait

WAITS = (30.0, 120.0, 600.0, 1_800.0, 7_200.0)


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
def test_any_2xx_acknowledges(status: int) -> None:
    assert is_acknowledged(status)


@pytest.mark.parametrize("status", [None, 100, 199, 300, 302, 400, 404, 410, 429, 500, 503])
def test_anything_else_is_a_failure(status: int | None) -> None:
    assert not is_acknowledged(status)


def test_the_waits_follow_the_schedule_and_the_sixth_failure_is_the_last() -> None:
    assert [retry_wait(failures, WAITS) for failures in range(6)] == [*WAITS, None]


@given(failures=st.integers(0, 40), seconds=st.floats(0, math.inf), free=st.integers(0, 1_000))
def test_attempts_in_flight_never_pass_the_20th_failure_nor_8_and_every_endpoint_has_one(
    failures: int, seconds: float, free: int
) -> None:
    concurrency = rules.concurrency(failures, seconds, free)
    assert 1 <= concurrency <= 8
    assert concurrency <= max(1, 20 - failures)


@given(failures=st.integers(0, 40), acknowledged=st.integers(0, 1_000), most=st.integers(16, 200))
def test_no_more_is_charged_for_than_may_still_be_tried(failures: int, acknowledged: int, most: int) -> None:
    count = rules.prefetch(failures, acknowledged, most)
    assert 1 <= count <= most
    if failures:
        assert count <= max(1, 20 - failures)


def test_a_process_short_of_slots_gives_each_endpoint_fewer() -> None:
    assert [rules.concurrency(0, math.inf, free) for free in (512, 128, 64, 16, 0)] == [8, 8, 4, 1, 1]


def test_an_endpoint_that_answers_fast_needs_fewer() -> None:
    assert [rules.concurrency(0, seconds, 512) for seconds in (0.0, 0.049, 0.05, 9.0)] == [6, 6, 8, 8]


def test_a_failure_is_the_receivers_when_others_succeeded_a_minute_after_it_began() -> None:
    since = 1_000.0
    last_successes = (-math.inf, since, since + 59, since + 60, since + 3_600)
    assert [rules.is_receivers_fault(since, at) for at in last_successes] == [False, False, False, True, True]


def test_an_unreachable_endpoint_is_tried_ever_less_often_but_every_15_seconds() -> None:
    assert [rules.pause_seconds(seconds) for seconds in (-math.inf, 0, 4, 600)] == [1, 1, 4, 15]
