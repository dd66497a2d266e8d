"""Fixtures of `./dev test --containers`: one engine, and each of the stacks of Compose on it in turn.

With `--core` only the demo (profile `compact`), else the profile `core` as well.
"""

import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from local.containers import images
from local.containers.compose import Composed
from local.containers.engine import Engine
from local.processes.table import NotReady
from local.testing.runs import NO_ENGINE

IS_CORE = os.environ["CONTAINERS"] == "core"
BEGUN_AT = time.monotonic()


class Progress:
    """Prints what is done, and when, while the tests run."""

    config: pytest.Config | None = None

    def __call__(self, line: str) -> None:
        if self.config is None:
            return
        plugin = self.config.pluginmanager.get_plugin
        with plugin("capturemanager").global_and_fixture_disabled():
            plugin("terminalreporter").write_line(f"{time.monotonic() - BEGUN_AT:4.0f} s  {line}")


tell = Progress()


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


@pytest.fixture(scope="session", params=["compact"] if IS_CORE else ["compact", "core"])
def stack(engine: Engine, request: pytest.FixtureRequest) -> Iterator[Composed]:
    stack = Composed(engine, engine.folder / request.param, request.param)
    if request.param == "compact":
        images.make_python(engine)
        with ThreadPoolExecutor() as pool:
            servers = pool.submit(images.make_servers, engine)
            stack.build()
            servers.result()
    else:
        stack.build()
    tell(f"the images for {request.param} are built")
    stack.start(lambda _: None)
    tell(f"{request.param} is healthy and has its demo account")
    yield stack
    stack.down()


@pytest.fixture(autouse=True)
def told(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    tell(request.node.name)
