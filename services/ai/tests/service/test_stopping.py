"""SIGTERM during a provider's call: the result is kept, although other processes look for lost jobs."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from ai_kit.simulator import Simulator
from sqlalchemy import create_engine, text

from testkit.fixtures import RunningService


@pytest.fixture
def replicas() -> Iterator[Callable[[RunningService], RunningService]]:
    """`replicas(service)` starts another process of the service, and stops it after the test."""
    started: list[RunningService] = []

    def start(service: RunningService) -> RunningService:
        started.append(RunningService("ai", service.env, service.bus, service.api))
        return started[-1]

    yield start
    for replica in started:
        assert replica.terminate() == 0


def test_images_that_outlast_a_claim_after_sigterm_are_stored_and_charged_once(
    own_ai: Callable[..., Any], replicas: Callable[[RunningService], RunningService], simulator: Simulator
) -> None:
    """The images are made one after another, two seconds each. The last one ends long after a claim of five seconds."""
    ai = own_ai(AI_LEASE_SECONDS="5", AI_PROVIDER_CALLS="1")
    service = ai.service
    other = replicas(service)
    engine = create_engine(service.env["DATABASE_URL"])

    def states() -> list[str]:
        with engine.connect() as connection:
            return list(connection.execute(text("SELECT state FROM jobs")).scalars())

    simulator.fault("image", "slow", times=4)
    simulator.fault("caption", "slow", times=1, provider="openai")
    with ThreadPoolExecutor(5) as threads:
        pictures = [threads.submit(ai.image) for _ in range(4)]
        wait_for(lambda: states() == ["processing"] * 4)
        caption = threads.submit(ai.caption, 30)
        wait_for(lambda: len(states()) == 5)
        service.process.terminate()
        other.wait_ready()
        assert [picture.result().job.status for picture in pictures] == ["completed"] * 4
        assert caption.result().text
    assert service.terminate() == 0
    assert states() == ["completed"] * 5
    assert ai.left() == 2_400 - 4 * 10 - 1
    assert len(simulator.works("image")) == 4
    engine.dispose()


def wait_for(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)
