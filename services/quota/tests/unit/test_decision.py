"""The rule of admission: requests are admitted exactly up to the limit, and refused ones use no units."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts import errors, plans
from contracts.caller import Caller
from contracts.errors import ApiError
from quota.charges import UnitCharge
from quota.decision import (
    SANDBOX_LIMITS,
    TIER_LIMITS,
    Counters,
    Decision,
    Demand,
    Limits,
    decide,
    decide_all,
    demand_of,
    roll,
)

NOON = datetime(2026, 11, 20, 12, 0, 30, tzinfo=UTC)
#: A few steps away from the next day and month.
MONTH_END = datetime(2026, 11, 30, 23, 45, tzinfo=UTC)
EMPTY = Counters(subject="usr_1")
SMALL = Limits(per_minute=5, per_day=9, monthly={"publishes": 10, "replies": 4, "reads": 7, "webhooks": 3})
OPEN = Limits(per_minute=10**6, per_day=10**6, monthly=dict.fromkeys(plans.BUCKETS, 10))

demands = st.builds(
    Demand,
    subject=st.just("usr_1"),
    limits=st.just(SMALL),
    bucket=st.sampled_from(["", "reads", "writes", "publishes", "replies"]),
)
gaps = st.integers(0, 90).map(lambda seconds: timedelta(seconds=seconds))


def demand(bucket: str = "reads", limits: Limits = SMALL, **more: Any) -> Demand:
    return Demand(subject="usr_1", limits=limits, bucket=bucket, **more)


def decide_in_turn(
    demands: list[Demand],
    counters: Counters = EMPTY,
    held: dict[str, UnitCharge] | None = None,
    now: datetime = NOON,
) -> list[Decision]:
    return decide_all({counters.subject: counters}, demands, held or {}, now)


def codes(decisions: list[Decision]) -> list[str | None]:
    return [decision.refused.code if decision.refused else None for decision in decisions]


@given(st.lists(st.tuples(gaps, demands), max_size=60))
def test_no_window_ever_lets_through_more_than_its_limit_nor_refuses_below_it(
    steps: list[tuple[timedelta, Demand]],
) -> None:
    counters, now = EMPTY, MONTH_END
    minutes: Counter[Any] = Counter()
    days: Counter[Any] = Counter()
    months: Counter[Any] = Counter()
    for gap, asked in steps:
        now += gap
        minute, day, month = (now.date(), now.hour, now.minute), now.date(), (now.month, asked.bucket)
        decision = decide(counters, asked, None, now)
        counters = decision.counters
        monthly = SMALL.monthly.get(asked.bucket)
        fits = (
            minutes[minute] < SMALL.per_minute
            and days[day] < SMALL.per_day
            and (monthly is None or months[month] < monthly)
        )
        assert (decision.refused is None) == fits
        if fits:
            minutes[minute] += 1
            days[day] += 1
            months[month] += 1


@given(st.lists(demands, max_size=40))
def test_a_batch_is_decided_as_its_demands_would_be_one_by_one(batch: list[Demand]) -> None:
    counters, alone = EMPTY, []
    for asked in batch:
        alone.append(decide(counters, asked, None, NOON))
        counters = alone[-1].counters
    assert decide_in_turn(batch) == alone


@given(st.lists(demands, max_size=40), demands)
def test_a_refused_request_uses_nothing_at_all(batch: list[Demand], last: Demand) -> None:
    counters = EMPTY
    for asked in [*batch, last]:
        decision = decide(counters, asked, None, NOON)
        assert decision.refused is None or decision.counters == counters
        counters = decision.counters


@given(demands, st.integers(0, 10**7))
def test_windows_that_are_over_begin_anew_and_others_go_on(asked: Demand, later_seconds: int) -> None:
    used = decide(EMPTY, asked, None, NOON).counters
    later = NOON + timedelta(seconds=later_seconds)
    rolled = roll(used, later)
    assert rolled.minute_count == (1 if later < NOON + timedelta(seconds=30) else 0)
    assert rolled.day_count == (1 if later.date() == NOON.date() else 0)
    assert rolled.total == (used.total if later.month == NOON.month and later.year == NOON.year else 0)
    assert roll(rolled, later) is rolled


@pytest.mark.parametrize("tier", plans.TIERS)
def test_every_tier_lets_through_exactly_its_minute_limit(tier: str) -> None:
    limits = TIER_LIMITS[tier]
    decisions = decide_in_turn([demand("", limits)] * (limits.per_minute + 3))
    assert codes(decisions) == [None] * limits.per_minute + ["RATE_LIMITED"] * 3
    assert decisions[0].window.remaining == limits.per_minute - 1
    assert decisions[-1].window.remaining == 0
    assert decisions[-1].window.resets_at == NOON.replace(second=0) + timedelta(minutes=1)
    assert decisions[-1].extras == {"retry_after_seconds": 30}


def test_a_used_up_day_says_when_it_ends() -> None:
    counters = roll(EMPTY, NOON)
    counters = msgspec.structs.replace(counters, day_count=SMALL.per_day)
    decision = decide(counters, demand(), None, NOON)
    assert decision.refused is errors.DAILY_LIMIT_EXCEEDED
    assert decision.extras == {"retry_after_seconds": 12 * 3600 - 30}
    assert decision.window.remaining == SMALL.per_minute


def test_a_used_up_bucket_refuses_itself_alone_and_says_when_it_ends() -> None:
    decisions = decide_in_turn([demand("replies")] * 4 + [demand("replies"), demand("")])
    assert codes(decisions) == [None] * 4 + ["MONTHLY_QUOTA_EXCEEDED", None]
    assert decisions[4].extras == {
        "bucket": "replies",
        "limit": 4,
        "resets_at": datetime(2026, 12, 1, tzinfo=UTC),
        "retry_after_seconds": 10 * 86400 + 12 * 3600 - 30,
    }


def test_the_minute_is_looked_at_before_the_day_and_the_day_before_the_month() -> None:
    full = msgspec.structs.replace(roll(EMPTY, NOON), minute_count=5, day_count=9, reads=7)
    assert decide(full, demand(), None, NOON).refused is errors.RATE_LIMITED
    next_minute = NOON + timedelta(minutes=1)
    assert decide(full, demand(), None, next_minute).refused is errors.DAILY_LIMIT_EXCEEDED
    next_day = NOON + timedelta(days=1)
    assert decide(full, demand(), None, next_day).refused is errors.MONTHLY_QUOTA_EXCEEDED


@pytest.mark.parametrize(
    ("meter", "counted"),
    [
        ("reads", {"reads": 1, "total": 1}),
        ("writes", {"writes": 1, "total": 1}),
        ("publishes", {"publishes": 1, "writes": 1, "total": 1}),
        ("replies", {"replies": 1, "writes": 1, "total": 1}),
        ("", {}),
    ],
)
def test_each_meter_counts_its_own(meter: str, counted: dict[str, int]) -> None:
    caller = Caller(account_id="usr_1", user_id="usr_1", tier="pro")
    after = decide(EMPTY, demand_of(caller, meter), None, NOON).counters
    names = (*plans.BUCKETS, "writes", "total")
    assert {name: getattr(after, name) for name in names if getattr(after, name)} == counted
    assert (after.minute_count, after.day_count) == (1, 1)


def test_units_taken_outside_a_request_use_the_month_alone() -> None:
    after = decide(EMPTY, demand("webhooks", is_request=False), None, NOON).counters
    assert (after.webhooks, after.minute_count, after.day_count, after.total) == (1, 0, 0, 0)


def test_the_hundredth_sandbox_request_works_and_then_every_answer_is_exhausted() -> None:
    asked = demand("", SANDBOX_LIMITS)
    counters, now, let_through = EMPTY, NOON, 0
    while not (decision := decide(counters, asked, None, now)).refused:
        counters, let_through = decision.counters, let_through + 1
        now += timedelta(days=1) if let_through % 50 == 0 else timedelta(minutes=1)
    assert let_through == 100
    assert decision.refused is errors.SANDBOX_EXHAUSTED


def test_an_exhausted_sandbox_token_is_told_so_even_with_its_minute_and_day_used_up() -> None:
    full = msgspec.structs.replace(roll(EMPTY, NOON), minute_count=5, day_count=50, lifetime=100)
    assert decide(full, demand("", SANDBOX_LIMITS), None, NOON).refused is errors.SANDBOX_EXHAUSTED


def test_a_sandbox_request_is_counted_for_its_token_and_uses_no_month() -> None:
    caller = Caller(account_id="usr_1", user_id="usr_1", token_id="tok_1", tier="elite", sandbox=True)
    asked = demand_of(caller, "reads")
    assert (asked.subject, asked.bucket, asked.limits) == ("tok_1", "", SANDBOX_LIMITS)


@given(st.lists(st.sampled_from(["op_1", "op_2", "op_3"]), max_size=30))
def test_an_operation_takes_its_units_once_however_often_it_is_tried(tries: list[str]) -> None:
    decisions = decide_in_turn([demand("publishes", OPEN, operation_id=tried) for tried in tries])
    assert not decisions or decisions[-1].counters.publishes == len(set(tries))


def test_a_try_that_is_over_takes_no_unit_and_passes_an_exhausted_month() -> None:
    full = msgspec.structs.replace(roll(EMPTY, NOON), publishes=10)
    over = UnitCharge(operation_id="op_1", account_id="usr_1", returned_to_try=2)
    asked = [demand("publishes", OPEN, operation_id="op_1", try_number=number) for number in (2, 3)]
    decisions = decide_in_turn(asked, counters=full, held={"op_1": over})
    assert codes(decisions) == [None, "MONTHLY_QUOTA_EXCEEDED"]
    assert [decision.charge for decision in decisions] == [None, None]


def test_a_retry_that_holds_its_unit_passes_an_exhausted_month() -> None:
    full = msgspec.structs.replace(roll(EMPTY, NOON), publishes=10)
    decisions = decide_in_turn(
        [demand("publishes", OPEN, operation_id="op_held"), demand("publishes", OPEN, operation_id="op_new")],
        counters=full,
        held={"op_held": UnitCharge(operation_id="op_held", account_id="usr_1", try_number=1)},
    )
    assert codes(decisions) == [None, "MONTHLY_QUOTA_EXCEEDED"]
    assert decisions[0].counters.publishes == 10


@given(st.integers(0, 20))
def test_a_bucket_warns_once_at_the_first_use_that_reaches_80_percent(count: int) -> None:
    decisions = decide_in_turn([demand("publishes", OPEN)] * count)
    reached = [decision.refused is None and decision.counters.publishes >= 8 for decision in decisions]
    assert [decision.warns for decision in decisions] == [
        reaches and not any(reached[:index]) for index, reaches in enumerate(reached)
    ]


def test_a_unit_given_back_and_taken_again_does_not_warn_twice() -> None:
    warned = decide_in_turn([demand("publishes", OPEN)] * 8)[-1]
    assert warned.warns
    given_back = msgspec.structs.replace(warned.counters, publishes=7)
    assert not decide(given_back, demand("publishes", OPEN), None, NOON).warns


def test_every_bucket_warns_for_itself_and_again_in_the_next_month() -> None:
    seven_each = msgspec.structs.replace(roll(EMPTY, NOON), publishes=7, replies=7)
    decisions = decide_in_turn([demand("publishes", OPEN), demand("replies", OPEN)], counters=seven_each)
    assert [decision.warns for decision in decisions] == [True, True]
    next_month = [demand("publishes", OPEN)] * 8
    later = decide_in_turn(next_month, decisions[-1].counters, now=NOON + timedelta(days=15))
    assert [decision.warns for decision in later] == [False] * 7 + [True]


@pytest.mark.parametrize("meter", ["likes", "webhooks"])
def test_a_request_with_a_made_up_meter_is_invalid(meter: str) -> None:
    with pytest.raises(ApiError) as refused:
        demand_of(Caller(account_id="usr_1", user_id="usr_1"), meter)
    assert refused.value.row is errors.VALIDATION_ERROR
