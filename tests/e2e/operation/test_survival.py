"""What survives the death of a process in the middle of the work: everything, once.

A post that a killed process was about to send takes minutes to settle (claims lapse, then its outcome is looked
up until the platform would know): the last test waits for those of all rounds together.
"""

import signal
import time
from collections import Counter
from collections.abc import Iterator

import pytest
from e2e_kit.crowd import POSTS_PER_PAGE, Crowd, Writing
from e2e_kit.operator import Accounts, Clock, Operator
from e2e_kit.simulator import Simulator
from e2e_kit.stack import Stack
from e2e_kit.waiting import until

pytestmark = pytest.mark.alone

MEMBERS = 64
#: From the new start of a killed process, or from when a killed server serves, until every service answers again.
READY_SECONDS = 10.0
#: 500 posts on two busy cores, the restart included.
OUT_SECONDS = 60.0
#: Most posts wait for nothing; those in the hands of the killed process are settled later.
MOST = 0.9
#: A claim lapses after 30 s, an outcome is settled within 2 minutes; the rest is for a busy machine.
SETTLED_SECONDS = 200.0


@pytest.fixture(scope="module")
def crowd(accounts: Accounts, simulator: Simulator, operator: Operator) -> Iterator[Crowd]:
    clock = Clock(operator)
    yield Crowd(accounts, simulator, clock, MEMBERS)
    clock.reset()


def restart(stack: Stack, name: str, number: signal.Signals = signal.SIGKILL) -> float:
    """Kills a process; the seconds from its new start, for a server from when it serves, until everything answers."""
    starts = stack.kill(name, number)
    stack.await_restart(name, starts)
    begin = time.monotonic()
    stack.await_ready(READY_SECONDS)
    return time.monotonic() - begin


def test_posts_whose_answers_never_came_are_not_sent_again_by_a_publishing_that_is_killed(
    crowd: Crowd, stack: Stack, simulator: Simulator
) -> None:
    members = crowd.members[: 200 // POSTS_PER_PAGE]
    texts = crowd.schedule(members, "dropped")
    assert len(texts) == 200
    for member in members:
        simulator.fault("drop_after_accept", member.due_page, times=POSTS_PER_PAGE)
    crowd.clock.shift_to(crowd.begin_at)
    for minute in range(POSTS_PER_PAGE):
        crowd.await_held(texts, minute * len(members) + 5, OUT_SECONDS)
        if minute >= POSTS_PER_PAGE // 2:
            restart(stack, "publishing")
        crowd.clock.shift(minutes=1)


@pytest.mark.parametrize("name", ["publishing", "accounts", "quota", "gateway", "rabbitmq"])
def test_a_killed_process_loses_nothing_and_repeats_nothing(crowd: Crowd, stack: Stack, name: str) -> None:
    texts = crowd.schedule(crowd.members, name)
    assert len(texts) >= 500
    seconds = 0.0

    def during(_: Writing) -> None:
        nonlocal seconds
        crowd.make_due()
        crowd.await_held(texts, 50, OUT_SECONDS)
        seconds = restart(stack, name)
        crowd.await_held(texts, int(len(texts) * MOST), OUT_SECONDS)

    writing = crowd.write(during)
    print(
        f"{name}: ready {seconds:.1f} s after its start; {len(writing.posts)} keys, {dict(writing.statuses)}"
    )
    crowd.check(writing)


def test_a_restart_of_postgresql_is_a_503_and_nothing_else(crowd: Crowd, stack: Stack) -> None:
    seconds, read = 0.0, set()
    reader = crowd.members[0].account.api

    def reads() -> bool:
        status = reader.call("GET", "/pages").status_code
        read.add(status)
        return status == 200

    def during(_: Writing) -> None:
        nonlocal seconds
        starts = stack.kill("postgres", signal.SIGINT)
        until(lambda: not reads(), READY_SECONDS, "a read notices")
        stack.await_restart("postgres", starts)
        begin = time.monotonic()
        stack.await_ready(READY_SECONDS)
        until(reads, READY_SECONDS, "reads work again")
        seconds = time.monotonic() - begin

    writing = crowd.write(during)
    print(
        f"postgres: ready {seconds:.1f} s after its start; {len(writing.posts)} keys, {dict(writing.statuses)}"
    )
    assert set(writing.statuses) == {201, 503}
    assert read == {200, 503}
    crowd.check(writing)


def test_in_the_end_every_post_of_all_this_is_out_exactly_once(crowd: Crowd, simulator: Simulator) -> None:
    if not crowd.texts:
        pytest.skip("none of the tests before was selected")
    begin = time.monotonic()
    crowd.await_settled(SETTLED_SECONDS)
    print(f"settled after another {time.monotonic() - begin:.0f} s")
    assert crowd.held(crowd.texts) == Counter(dict.fromkeys(crowd.texts, 1))
    simulator.clear_faults()
