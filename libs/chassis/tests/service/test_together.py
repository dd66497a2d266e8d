"""Several services in one process: each has its own database, and they share the health check and the end."""

import os
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable, Iterator

import pytest
from probe.api import ProbeApi, Words

from contracts.caller import Caller
from testkit.any_sender import AnySender
from testkit.fixtures import SECRETS, RunningService, keys_for_tests

CALLER = Caller(account_id="usr_1", user_id="usr_1")


@pytest.fixture
def pair(database_for: Callable[[str], str], virtual_host: str, free_port: int) -> Iterator[RunningService]:
    """The services probe and quota in one process. The fixture's methods are those of the probe."""
    bus = AnySender(virtual_host, SECRETS)
    env = {
        **os.environ,
        "AMQP_URL": virtual_host,
        "MESSAGE_KEYS": keys_for_tests("probe", "quota"),
        "CLOCK_SHIFT_ALLOWED": "true",
        "DATABASE_URL_PROBE": database_for("probe"),
        "DATABASE_URL_QUOTA": database_for("quota"),
        "HEALTH_PORT": str(free_port),
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    running = RunningService("probe", env, bus, ProbeApi, together_with=["quota"])
    running.wait_ready()
    yield running
    running.terminate()
    bus.close()


def test_each_answers_from_its_own_database_and_the_end_waits_for_calls_that_run(pair):
    pair.bus.ping("quota", timeout_seconds=5.0)
    with urllib.request.urlopen(f"http://127.0.0.1:{pair.env['HEALTH_PORT']}/healthz", timeout=5) as answer:
        assert answer.status == 200
    answers = []
    call = threading.Thread(target=lambda: answers.append(pair.wait(CALLER, Words(text="done", seconds=1.0))))
    call.start()
    pair.write(CALLER, Words(text="behind the call in its queue"))
    assert pair.terminate() == 0
    call.join(30)
    assert answers == [Words(text="done", seconds=1.0)]


def test_a_database_that_is_not_named_stops_the_start(virtual_host, database_for):
    env = {**os.environ, "AMQP_URL": virtual_host, "DATABASE_URL": database_for("probe")}
    env |= {"DATABASE_URL_PROBE": env["DATABASE_URL"], "PYTHONPATH": os.pathsep.join(sys.path)}
    env.pop("DATABASE_URL_QUOTA", None)
    done = subprocess.run(
        [sys.executable, "-m", "chassis.run", "probe", "quota"],
        env=env, capture_output=True, text=True, timeout=30,
    )  # fmt: skip
    assert done.returncode != 0
    assert "DATABASE_URL_QUOTA is not set" in done.stderr
