"""When attempts and look-ups are made."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from publishing.rules.retries import MAX_ATTEMPTS, wait_before_look, wait_before_next


def test_attempts_come_after_1_5_and_15_minutes_and_then_no_more() -> None:
    assert [wait_before_next(made) for made in (1, 2, 3, 4, 5)] == [60, 300, 900, None, None]


@given(st.integers(1, 10), st.one_of(st.none(), st.floats(0, 1e9)))
def test_a_wait_is_never_shorter_than_the_schedule_or_the_platform_says_up_to_a_day(
    attempts: int, asked: float | None
) -> None:
    wait = wait_before_next(attempts, asked)
    if attempts >= MAX_ATTEMPTS:
        assert wait is None
    else:
        assert wait is not None
        assert wait >= min(asked or 0, 86_400)
        assert wait >= (60, 300, 900)[attempts - 1]


@pytest.mark.parametrize("first", [1.0, 5.0, 30.0])
def test_looks_begin_at_the_first_and_one_of_them_is_at_the_settling_time(first: float) -> None:
    ages, age = [], first
    while len(ages) < 20 and age <= 90:
        ages.append(age)
        age += wait_before_look(age, first, 90)
    assert ages[0] == first
    assert ages[-1] == 90
    assert len(ages) < 10


@given(st.floats(0, 1e6), st.floats(0.1, 60), st.floats(61, 300))
def test_the_next_look_always_lies_ahead(age: float, first: float, settle: float) -> None:
    assert wait_before_look(age, first, settle) > 0


def test_what_stays_unknown_is_looked_at_ever_rarer_and_once_an_hour_at_least() -> None:
    assert [wait_before_look(age, 30, 90) for age in (90, 120, 7_200, 80_000)] == [30, 30, 1_800, 3_600]
