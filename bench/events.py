"""Runs the service `bench/source` beside the stack. It creates the events for the benchmark of webhooks."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench.source.api import SourceApi, Staged, StageEvents
from bench.stack import Stack
from contracts.caller import operator
from contracts.errors import ApiError

_HERE = Path(__file__).parent
_START_SECONDS = 30.0


class Events:
    """A client of the running service `bench/source`."""

    def __init__(self, stack: Stack) -> None:
        self._source = stack.bus.service("source", SourceApi)

    def stage(self, accounts: Sequence[str], count: int) -> Staged:
        request = StageEvents(account_ids=tuple(accounts), count=count)
        staged: Staged = self._source.stage_events(operator("req_bench"), request)
        return staged


@contextmanager
def sourced(stack: Stack) -> Iterator[Events]:
    """Runs the service `bench/source` on publishing's database during the block. Ends the benchmark if the service
    does not start within 30 s.
    """
    env = {
        **os.environ,
        "AMQP_URL": stack.env["AMQP_ADMIN_URL"],
        "DATABASE_URL": stack.env["DATABASE_URL_PUBLISHING"],
        "MESSAGE_KEYS": stack.message_keys("source", "publishing"),
        "CLOCK_SHIFT_ALLOWED": "true",
        "HEALTH_PORT": "0",
        "PYTHONPATH": os.pathsep.join([str(_HERE), str(_HERE.parent), *sys.path]),
    }
    with (stack.run / "logs" / "source.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "chassis.run", "source"], env=env, stdout=log, stderr=log
        )
        try:
            events = Events(stack)
            _wait(events)
            yield events
        finally:
            process.terminate()
            process.wait(15)


def _wait(events: Events) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        try:
            events.stage([], 0)
            return
        except ApiError:
            time.sleep(0.1)
    raise SystemExit("the source of events did not come up")
