"""A probe that the tests of a module lend each other, because starting a process takes a second of CPU."""

from collections.abc import Callable, Iterator

import pika
import pytest
from probe.api import ProbeApi
from sqlalchemy import create_engine, text

from chassis.bus.topology import QUARANTINE_QUEUE, RETRY_SECONDS, event_queue, retry_queue
from testkit.fixtures import RunningService


@pytest.fixture(scope="module")
def probe_env() -> dict[str, str]:
    """Further environment variables of the module's probe. Modules override this fixture."""
    return {}


@pytest.fixture(scope="module")
def shared_probe(shared_service: Callable[..., RunningService], probe_env: dict[str, str]) -> RunningService:
    """The module's probe, for tests that leave it running and do not mind what other tests have written."""
    return shared_service("probe", env=probe_env, api=ProbeApi)


@pytest.fixture
def lent_probe(shared_probe: RunningService) -> Iterator[RunningService]:
    """The module's probe, without rows and events of other tests. A test may kill it."""
    empty(shared_probe)
    yield shared_probe
    if shared_probe.process.poll() is not None:
        shared_probe.restart()


@pytest.fixture
def lent_host(shared_probe: RunningService) -> str:
    """The AMQP URL of the lent probe's virtual host."""
    return shared_probe.env["AMQP_URL"]


def empty(probe: RunningService) -> None:
    """Deletes the probe's rows and the events that wait for it, and empties the quarantine."""
    queues = [event_queue("probe"), *(retry_queue("probe", seconds) for seconds in RETRY_SECONDS)]
    with pika.BlockingConnection(pika.URLParameters(probe.env["AMQP_URL"])) as connection:
        channel = connection.channel()
        for queue in (*queues, QUARANTINE_QUEUE):
            channel.queue_purge(queue)
    engine = create_engine(probe.env["DATABASE_URL"])
    with engine.begin() as connection:
        for table in ("notes", "inbox", "outbox"):
            connection.execute(text(f"DELETE FROM {table}"))
    engine.dispose()
