"""Fixtures of `./dev test --containers`: one engine, and each of the stacks of Compose on it in turn.

With `--core` only the demo (profile `compact`), else the profile `core` as well.
"""

import os
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
#: Films of any size are made by a kit of the end-to-end tests.
sys.path.insert(0, str(Path(__file__).parents[3] / "tests" / "e2e"))

from container_kit import tell

from local.containers import images
from local.containers.compose import Composed
from local.containers.engine import Engine
from local.processes.table import NotReady
from local.testing.runs import NO_ENGINE

IS_CORE = os.environ["CONTAINERS"] == "core"


def pytest_configure(config: pytest.Config) -> None:
    tell.config = config


@pytest.fixture(scope="session")
def is_core() -> bool:
    """Whether only the core of these tests runs."""
    return IS_CORE


@pytest.fixture(scope="session")
def engine() -> Iterator[Engine]:
    engine = Engine(Path(os.environ["TEST_RUN_DIR"]))
    try:
        try:
            engine.boot()
        except NotReady as error:
            pytest.exit(f"no container engine can run here: {error}", NO_ENGINE)
        tell("the engine runs")
        yield engine
    finally:
        engine.remove()


@pytest.fixture(scope="session")
def servers(engine: Engine) -> Iterator[Future[None]]:
    """Makes the image that ours stand on, then those of the servers while ours are built."""
    images.make_python(engine)
    with ThreadPoolExecutor() as pool:
        yield pool.submit(images.make_servers, engine)


@pytest.fixture(scope="session", params=["compact"] if IS_CORE else ["compact", "core"])
def stack(engine: Engine, servers: Future[None], request: pytest.FixtureRequest) -> Composed:
    """One stack after the other: it makes room when the next one starts, and the last one ends with the engine."""
    stack = Composed(engine, engine.folder / request.param, request.param)
    stack.build()
    servers.result()
    tell(f"the images for {request.param} are built")
    stack.start(lambda _: None)
    tell(f"{request.param} is healthy and has its demo account")
    return stack


@pytest.fixture(autouse=True)
def told(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    tell(request.node.name)
