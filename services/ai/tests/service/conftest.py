"""The service as a process, with the real media service and a bucket; the simulator plays the providers."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from ai_kit.running_ai import Ai, environment
from ai_kit.simulator import Simulator, running_simulator


@pytest.fixture(scope="module")
def simulator_process() -> Iterator[Simulator]:
    with running_simulator(film_seconds="1") as simulator:
        yield simulator


@pytest.fixture
def simulator(simulator_process: Simulator) -> Iterator[Simulator]:
    yield simulator_process
    simulator_process.call("POST", "reset")


@pytest.fixture(scope="module")
def services(
    shared_service: Callable[..., Any], shared_bucket: dict[str, str], simulator_process: Simulator
) -> tuple[Any, Any]:
    media = shared_service("media", env=shared_bucket)
    return shared_service("ai", env=environment(simulator_process)), media


@pytest.fixture
def ai(services: tuple[Any, Any], simulator: Simulator) -> Ai:
    return Ai(*services)


@pytest.fixture
def own_ai(
    running_service: Callable[..., Any], bucket: dict[str, str], simulator: Simulator
) -> Callable[..., Ai]:
    """`own_ai(AI_LEASE_SECONDS="5")` starts processes for this test alone, with other settings."""
    media = running_service("media", env=bucket)
    return lambda **more: Ai(running_service("ai", env=environment(simulator, **more)), media)
