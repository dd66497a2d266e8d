"""The broker and the database are restarted again and again under load: they are soon back, and no accepted write is
lost.
"""

import datetime as dt
import signal
import time
import uuid
from functools import partial

import psycopg2
import pytest
import requests
from e2e_kit.api import Api, Json, stamp
from e2e_kit.operator import Accounts, Clock, Operator
from e2e_kit.simulator import Simulator
from e2e_kit.waiting import until
from e2e_kit.workload import Workload, WriteResults
from fault_kit.figures import Figures
from fault_kit.stack import FaultyStack

pytestmark = pytest.mark.quiet

#: From the moment the server takes connections again until a write is answered with 201 (a bar of the project).
SERVING_SECONDS = 5.0
#: A killed broker needs some seconds of its own to come up.
UP_SECONDS = 40.0
CLIENT_TIMEOUT_SECONDS = 5.0
CLIENTS = 6
RESTARTS, CORE_RESTARTS = 20, 2
#: Accepted between one restart and the next, at least.
WRITES_BETWEEN = 10


@pytest.fixture
def workload(accounts: Accounts, simulator: Simulator, operator: Operator) -> Workload:
    return Workload(accounts, simulator, Clock(operator), CLIENTS)


@pytest.mark.parametrize(
    ("name", "signals"),
    [("rabbitmq", (signal.SIGKILL,)), ("postgres", (signal.SIGINT, signal.SIGKILL))],
    ids=["broker", "database"],
)
def test_after_a_restart_it_serves_again_soon_and_no_accepted_write_is_gone(
    workload: Workload,
    stack: FaultyStack,
    figures: Figures,
    is_core: bool,
    name: str,
    signals: tuple[signal.Signals, ...],
) -> None:
    client, first_at = workload.clients[0], workload.clock.now() + dt.timedelta(days=60)
    down: list[float] = []
    serving: list[float] = []

    def during(results: WriteResults) -> None:
        for number in range(CORE_RESTARTS if is_core else RESTARTS):
            enough = len(results.posts) + WRITES_BETWEEN
            until(lambda enough=enough: len(results.posts) >= enough, 30.0, "it is under load")
            begin = time.monotonic()
            starts = stack.kill(name, signals[number % len(signals)])
            up = stack.await_state(name, starts, UP_SECONDS)
            if name == "postgres":
                until(partial(takes_connections, stack), UP_SECONDS, "its recovery is over")
                up = time.monotonic()
            at = stamp(first_at + dt.timedelta(hours=number))
            key = uuid.uuid4().hex
            body = {"page_id": client.written_page["id"], "message": key, "scheduled_at": at}
            until(partial(is_taken, client.account.api, body, key), 30.0, "a write works")
            back = time.monotonic()
            down.append(back - begin)
            serving.append(back - up)

    results = workload.write(during)
    serving.sort()
    usual = serving[len(serving) // 2]
    figures.note(
        f"restarts: {name}", times=len(serving), serving=f"after {usual:.1f} s, at most {serving[-1]:.1f} s",
        away=f"at most {max(down):.1f} s in all", written=len(results.posts), answers=dict(results.statuses),
    )  # fmt: skip
    workload.check(results)
    assert serving[-1] <= SERVING_SECONDS, serving
    assert len(results.posts) >= len(serving) * WRITES_BETWEEN


def takes_connections(stack: FaultyStack) -> bool:
    """Whether the database accepts connections. While it recovers from a crash it answers, but refuses them."""
    try:
        psycopg2.connect(stack.env["DATABASE_URL_PUBLISHING"].replace("+psycopg2", "")).close()
    except psycopg2.OperationalError:
        return False
    return True


def is_taken(api: Api, body: Json, key: str) -> bool:
    try:
        return (
            api.call(
                "POST", "/posts/schedule", json=body, key=key, timeout=CLIENT_TIMEOUT_SECONDS
            ).status_code
            == 201
        )
    except requests.RequestException:
        return False
