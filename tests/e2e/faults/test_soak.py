"""Does steady work for SOAK_MINUTES, and looks for memory that grows, transactions that hang, and messages and objects
that are left. Run by hand.

The clock is shifted in leaps meanwhile, so that it runs 120 times too fast. Two hours then contain ten days, with
everything that becomes due in them.
"""

import os
import subprocess
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import psycopg2
import pytest
from e2e_kit.memory import resident_bytes
from e2e_kit.operator import Account, Accounts, Clock
from e2e_kit.posting import from_now
from e2e_kit.receiver import Receiver, subscribe
from e2e_kit.simulator import Simulator
from fault_kit.chaos import wait_until
from fault_kit.figures import Figures
from fault_kit.stack import WORKERS, FaultyStack

MINUTES = float(os.environ.get("SOAK_MINUTES", "0"))
#: Memory is compared with what it was after this share of the time: pools and caches are full then.
WARM = 0.25
#: Issue "Prove it", for two hours; a short soak has not yet met what comes rarely.
GROWTH = 0.02
MEMBERS = 12
#: Of one member, so that its 300 requests a minute suffice.
PAUSE_SECONDS = 0.5
#: A transaction open for longer is stuck: none lasts beyond a statement's 10 s and a few of them.
STUCK_SECONDS = 30
#: Every so often the shared clock leaps by so much: a page's cap for a day is then met about once.
LEAP_SECONDS, LEAP_HOURS = float(os.environ.get("SOAK_LEAP_SECONDS", "60")), 2
#: One scheduled post of so many stays, and comes due.
STAYING = 4

pytestmark = [
    pytest.mark.quiet,
    pytest.mark.skipif(not MINUTES, reason="SOAK_MINUTES says how long; run by hand"),
]


def test_after_steady_work_memory_is_as_it_was_and_nothing_is_stuck(
    accounts: Accounts, clock: Clock, simulator: Simulator, stack: FaultyStack, figures: Figures
) -> None:
    stop, statuses, time_passing = threading.Event(), Counter[int](), TimePassing(clock)
    starts = {name: stack.starts(name) for name in WORKERS}
    before = queues(stack)
    with Receiver() as receiver, ThreadPoolExecutor(MEMBERS) as pool:
        members = [accounts.new(pages=("FB", "TW")) for _ in range(MEMBERS)]
        for member in members:
            subscribe(member, receiver.url("/soak"))
        clients = [pool.submit(live, member, stop, statuses, time_passing) for member in members]
        try:
            time_passing.go_on(MINUTES * 60 * WARM)
            warm = memory(stack)
            time_passing.go_on(MINUTES * 60 * (1 - WARM))
        finally:
            stop.set()
        for client in clients:
            client.result()
        drained = wait_until(lambda: not any(count for count in queues(stack).values()), 60.0)
        end, after = memory(stack), queues(stack)
    grown = {name: end[name] / warm[name] - 1 for name in end}
    total = sum(end.values()) / sum(warm.values()) - 1
    figures.note(
        "soak", minutes=MINUTES, days=round(time_passing.hours / 24, 1),
        requests=statuses.total(), answers=dict(statuses),
        memory=f"{sum(end.values()) / 2**20:.0f} MB",
        grown=f"{total:.1%}", each={name: f"{share:+.1%}" for name, share in grown.items()},
        orphan_queues=len(set(after) - set(before)), stuck=stuck(stack),
    )  # fmt: skip
    assert starts == {name: stack.starts(name) for name in WORKERS}, "a process ended"
    assert drained, {name: count for name, count in after.items() if count}
    assert not stuck(stack)
    assert not set(after) - set(before)
    assert set(statuses) <= {200, 201, 429}, statuses
    assert total <= GROWTH, grown


class TimePassing:
    """Lets time pass on the shifted clock, in leaps."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        #: It is ahead of this machine's.
        self.hours = 0

    def go_on(self, seconds: float) -> None:
        """Waits for this many seconds of real time. Shifts the clock at every leap."""
        end_at = time.monotonic() + seconds
        while (left := end_at - time.monotonic()) > 0:
            time.sleep(min(left, LEAP_SECONDS))
            self._clock.shift(hours=LEAP_HOURS)
            self.hours += LEAP_HOURS


def live(member: Account, stop: threading.Event, statuses: Counter[int], time_passing: TimePassing) -> None:
    """Sends what a client sends all day, over and over, until `stop` is set. Counts the statuses."""
    api, page = member.api, member.page_id("TW")
    later = iter(range(1, 10**9))

    def schedule_and_cancel() -> int:
        number = next(later)
        at = from_now(days=3, hours=time_passing.hours, minutes=number)
        answer = api.call(
            "POST",
            "/posts/schedule",
            json={"page_id": page, "message": "soak", "scheduled_at": at},
            key=uuid.uuid4().hex,
        )
        if answer.status_code == 201 and number % STAYING:
            return api.call("DELETE", f"/posts/scheduled/{answer.json()['scheduled_post']['id']}").status_code
        return answer.status_code

    acts: tuple[Callable[[], int], ...] = (
        lambda: api.call("GET", "/posts/scheduled").status_code,
        lambda: api.call("GET", "/pages").status_code,
        schedule_and_cancel,
        lambda: api.call("GET", "/account").status_code,
        lambda: api.call("POST", "/posts/validate", json={"page_id": page, "message": "soak"}).status_code,
        lambda: api.call("GET", "/media").status_code,
        lambda: (
            api.call(
                "POST", "/posts/publish", json={"page_id": page, "message": uuid.uuid4().hex}
            ).status_code
        ),
        lambda: api.call("GET", "/posts/published").status_code,
    )
    while not stop.is_set():
        for act in acts:
            statuses[act()] += 1
            stop.wait(PAUSE_SECONDS)


def memory(stack: FaultyStack) -> dict[str, int]:
    """Returns the resident bytes of each process of ours: the smallest of five readings."""
    looks = []
    for _ in range(5):
        looks.append({name: resident_bytes(stack, name) for name in WORKERS})
        time.sleep(0.5)
    return {name: min(look[name] for look in looks) for name in WORKERS}


def queues(stack: FaultyStack) -> dict[str, int]:
    """Returns the number of messages in every queue. Queues that exist only as long as their connection are counted
    together.
    """
    row = next(row for row in stack.table() if row.name == "rabbitmq")
    done = subprocess.run(
        ["/usr/lib/rabbitmq/bin/rabbitmqctl", "-q", "list_queues", "name", "messages", "--no-table-headers"],
        env=os.environ | row.env, capture_output=True, text=True, check=True,
    )  # fmt: skip
    found: Counter[str] = Counter()
    for line in done.stdout.splitlines():
        name, _, count = line.partition("\t")
        found["amq.gen-*" if name.startswith("amq.gen") else name] += int(count)
    return dict(found)


def stuck(stack: FaultyStack) -> int:
    """Returns how many transactions, in any database, have been open for longer than STUCK_SECONDS."""
    url = stack.env["DATABASE_URL_PUBLISHING"].replace("+psycopg2", "")
    with psycopg2.connect(url) as connection, connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname IS NOT NULL AND pid <> pg_backend_pid()"
            " AND clock_timestamp() - xact_start > make_interval(secs => %s)", (STUCK_SECONDS,),
        )  # fmt: skip
        [(count,)] = cursor.fetchall()
    return int(count)
