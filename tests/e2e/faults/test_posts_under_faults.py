"""Thousands of scheduled posts while processes, connections and clocks fail: no post is lost, sent twice or sent
early.
"""

import time

import pytest
from e2e_kit.operator import Accounts, Clock, Operator
from e2e_kit.simulator import Simulator
from fault_kit.chaos import SKEW_SECONDS, Chaos, wait_until
from fault_kit.figures import Figures
from fault_kit.many import PAGES, Many
from fault_kit.stack import FaultyStack

#: accounts, steps (posts on each page), faults, seconds between two of them, seconds for a step
FULL = (25, 20, 200, 1.3, 13.0)
CORE = (3, 5, 16, 1.2, 5.0)
#: The same with platforms as slow as real ones: a page's queue sends a post in some two seconds, or now and then in 25.
SLOW_FULL = (25, 20, 200, 1.8, 18.0)
SLOW_CORE = (2, 2, 6, 1.2, 6.0)
#: Due posts are looked for twice a second: whoever would send too early does so in this time.
CLOSE_SECONDS = 1.5
#: Claims lapse after half a minute, outcomes nobody knows are settled within two.
SETTLED_SECONDS = 240.0
#: quota asks after one minute what a call has made (`UNCONFIRMED_AFTER_SECONDS` of the local stack), and again after
#: another one where the answer is that it is not decided yet.
COUNTED_SECONDS = 240.0


@pytest.fixture
def clock(operator: Operator, stack: FaultyStack, simulator: Simulator) -> Clock:
    """The clock shift of the stack. Afterwards platforms are quick, links and clocks are repaired, and the clock is
    back at real time.
    """
    clock = Clock(operator)
    yield clock
    simulator.be_slow("")
    stack.mend()
    stack.await_ready(60.0)
    clock.reset()


def test_of_scheduled_posts_under_faults_none_is_lost_none_goes_out_twice_and_none_early(
    accounts: Accounts,
    simulator: Simulator,
    stack: FaultyStack,
    clock: Clock,
    figures: Figures,
    is_core: bool,
    is_slow: bool,
) -> None:
    quick, slow = (CORE, SLOW_CORE) if is_core else (FULL, SLOW_FULL)
    size, steps, count, pause, step_seconds = slow if is_slow else quick
    simulator.be_slow("1" if is_slow else "")
    many = Many(accounts, simulator, clock, size, steps)
    begin = time.monotonic()
    with Chaos(stack, count, pause) as chaos:
        many.schedule()
        scheduled = time.monotonic() - begin
        for step in range(steps):
            insist(lambda step=step: many.come_close(step))
            if step % 2:
                stack.skew("publishing", SKEW_SECONDS)
            time.sleep(CLOSE_SECONDS)
            many.out(step - 1)
            insist(lambda step=step: many.make_due(step))
            wait_until(lambda step=step: many.out(step) == many.until_step(step), step_seconds)
        wait_until(lambda: chaos.is_done, count * pause)
    stack.await_ready(60.0)
    hit = time.monotonic() - begin
    settle(many)
    settled = time.monotonic() - begin - hit
    counted = count_units(many)
    held, failed, queued = many.held(), many.shown("failed"), many.shown("queued")
    figures.note(
        "posts under faults, slow platforms" if is_slow else "posts under faults", posts=many.total,
        faults=chaos.hits.total(), kinds=dict(chaos.hits),
        lost=many.total - len(held), twice=sum(held.values()) - len(held), early=len(many.early), failed=len(failed),
        scheduled=f"in {scheduled:.0f} s", hit=f"for {hit:.0f} s", settled=f"after {settled:.0f} s",
        answers=dict(many.statuses), abandoned=dict(many.abandoned),
        units=sum(used for used, _ in counted), posts_made=sum(made for _, made in counted),
    )  # fmt: skip
    assert chaos.hits.total() >= count
    assert not [one for one, times in held.items() if times > 1], "sent twice"
    assert not many.early, (len(many.early), "before their time")
    assert not failed, (len(failed), failed[0])
    assert not queued, (len(queued), queued[0])
    assert len(many.due) == len(held) == many.total == size * PAGES * steps
    if many.first_at.month == clock.now().month:  # units of a month that has ended are gone
        assert not [one for one in counted if one[0] != one[1]], "month units used, posts made"


def settle(many: Many) -> None:
    """Waits until no post is queued. Shifts the clock when all the remaining posts wait for their next attempt."""
    end = time.monotonic() + SETTLED_SECONDS
    while queued := many.queued():
        assert time.monotonic() < end, (len(queued), queued[0])
        if all(post["next_attempt_at"] for post in queued):
            many.clock.shift(minutes=1)
        time.sleep(0.5)


def count_units(many: Many) -> list[tuple[int, int]]:
    """Returns the used units and the posts of each account. Waits until they are equal, but not longer than
    COUNTED_SECONDS.
    """
    end = time.monotonic() + COUNTED_SECONDS
    while True:
        counted = many.units_and_posts()
        if all(used == made for used, made in counted) or time.monotonic() > end:
            return counted
        time.sleep(2.0)


def insist(act: object, seconds: float = 60.0) -> None:
    """Repeats `act` until it succeeds, because commands of the operator meet the same faults as everything else."""
    end = time.monotonic() + seconds
    while True:
        try:
            act()  # type: ignore[operator]
        except AssertionError:
            if time.monotonic() > end:
                raise
            time.sleep(0.5)
        else:
            return
