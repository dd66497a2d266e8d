"""A scripted server, and the simulator as a process. Both are called over real HTTP."""

from collections.abc import Iterator

import pytest
from ai_kit.scripted_server import ScriptedServer
from ai_kit.simulator import Simulator, running_simulator


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    server = ScriptedServer()
    yield server
    server.close()


@pytest.fixture(scope="session")
def simulator_process() -> Iterator[Simulator]:
    with running_simulator(film_seconds="0.3") as simulator:
        yield simulator


@pytest.fixture
def simulator(simulator_process: Simulator) -> Iterator[Simulator]:
    yield simulator_process
    simulator_process.call("POST", "reset")
