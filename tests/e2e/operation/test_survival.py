"""When a process is killed in the middle of its work, nothing is lost and nothing is done twice.

A post that a killed process was sending takes minutes to settle: its claim must lapse, then its outcome is reconciled.
So the last test waits for the posts of all rounds together.
"""

import signal
import time
from collections import Counter
from collections.abc import Iterator

import pytest
from e2e_kit.operator import Accounts, Clock, Operator
from e2e_kit.simulator import Simulator
from e2e_kit.stack import Stack
from e2e_kit.waiting import until
from e2e_kit.workload import POSTS_PER_PAGE, Workload, WriteResults

pytestmark = [pytest.mark.alone, pytest.mark.quiet]

CLIENTS = 64
#: Longest time from the restart of a process, or from when a restarted server is ready, until all services answer.
READY_SECONDS = 10.0
#: Longest time for 500 posts on two busy cores, the restart included.
OUT_SECONDS = 60.0
#: The share of posts that do not wait; those that the killed process was sending are settled later.
MOST = 0.9
#: A claim lapses after 30 s, an outcome is settled within 2 minutes; the rest is for a busy machine.
SETTLED_SECONDS = 200.0


@pytest.fixture(scope="module")
def workload(accounts: Accounts, simulator: Simulator, operator: Operator) -> Iterator[Workload]:
    clock = Clock(operator)
    yield Workload(accounts, simulator, clock, CLIENTS)
    clock.reset()


def restart(stack: Stack, name: str, number: signal.Signals = signal.SIGKILL) -> float:
    """Kills a process. Returns the seconds from its restart (of a server: from the moment it is ready) until all
    processes answer.
    """
    starts = stack.kill(name, number)
    stack.await_restart(name, starts)
    begin = time.monotonic()
    stack.await_ready(READY_SECONDS)
    return time.monotonic() - begin


def test_posts_whose_answers_never_came_are_not_sent_again_by_a_publishing_that_is_killed(
    workload: Workload, stack: Stack, simulator: Simulator
) -> None:
    clients = workload.clients[: 200 // POSTS_PER_PAGE]
    texts = workload.schedule(clients, "dropped")
    assert len(texts) == 200
    for client in clients:
        simulator.fault("drop_after_accept", client.due_page, times=POSTS_PER_PAGE)
    workload.clock.shift_to(workload.begin_at)
    for minute in range(POSTS_PER_PAGE):
        workload.await_published(texts, minute * len(clients) + 5, OUT_SECONDS)
        if minute >= POSTS_PER_PAGE // 2:
            restart(stack, "publishing")
        workload.clock.shift(minutes=1)


@pytest.mark.parametrize("name", ["publishing", "accounts", "quota", "gateway", "rabbitmq"])
def test_a_killed_process_loses_nothing_and_repeats_nothing(
    workload: Workload, stack: Stack, name: str
) -> None:
    texts = workload.schedule(workload.clients, name)
    assert len(texts) >= 500
    seconds = 0.0

    def during(_: WriteResults) -> None:
        nonlocal seconds
        workload.make_due()
        workload.await_published(texts, 50, OUT_SECONDS)
        seconds = restart(stack, name)
        workload.await_published(texts, int(len(texts) * MOST), OUT_SECONDS)

    results = workload.write(during)
    print(
        f"{name}: ready {seconds:.1f} s after its start; {len(results.posts)} keys, {dict(results.statuses)}"
    )
    workload.check(results)


def test_a_restart_of_postgresql_is_a_503_and_nothing_else(workload: Workload, stack: Stack) -> None:
    seconds, read = 0.0, set()
    reader = workload.clients[0].account.api

    def reads() -> bool:
        status = reader.call("GET", "/pages").status_code
        read.add(status)
        return status == 200

    def during(_: WriteResults) -> None:
        nonlocal seconds
        starts = stack.kill("postgres", signal.SIGINT)
        until(lambda: not reads(), READY_SECONDS, "a read notices")
        stack.await_restart("postgres", starts)
        begin = time.monotonic()
        stack.await_ready(READY_SECONDS)
        until(reads, READY_SECONDS, "reads work again")
        seconds = time.monotonic() - begin

    results = workload.write(during)
    print(
        f"postgres: ready {seconds:.1f} s after its start; {len(results.posts)} keys, {dict(results.statuses)}"
    )
    assert set(results.statuses) == {201, 503}
    assert read == {200, 503}
    workload.check(results)


def test_in_the_end_every_post_of_all_this_is_out_exactly_once(
    workload: Workload, simulator: Simulator
) -> None:
    if not workload.texts:
        pytest.skip("none of the tests before was selected")
    begin = time.monotonic()
    workload.await_settled(SETTLED_SECONDS)
    print(f"settled after another {time.monotonic() - begin:.0f} s")
    assert workload.published_counts(workload.texts) == Counter(dict.fromkeys(workload.texts, 1))
    simulator.clear_faults()
