"""Fixtures of `./dev test --containers`: one engine, on which the stacks of Compose run one after another.

With `--core` only the stack of the profile `compact` runs, otherwise the one of the profile `core` too.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
#: Films of any size are made by a kit of the end-to-end tests; the mail server is one of the accounts service's tests.
sys.path.insert(0, str(Path(__file__).parents[3] / "tests" / "e2e"))
sys.path.insert(0, str(Path(__file__).parents[3] / "services" / "accounts" / "tests"))

from container_builds import PARENT, Builds, parent_release
from container_kit import tell

from local.containers import images
from local.containers.compose import Composed
from local.containers.engine import Engine
from local.processes.table import NotReady
from local.testing.runs import NO_ENGINE

IS_CORE = os.environ["CONTAINERS"] == "core"
#: Files of tests that run on `core` before the images of the parent release are built, in this order: some need a quiet
#: machine, the backup is quicker on one.
QUIET = ("test_idle.py", "test_backup_and_restore.py", "test_large_files.py", "test_power_loss.py")


def pytest_configure(config: pytest.Config) -> None:
    tell.config = config


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sorts the tests of each stack: while images are built, those run that a busy machine does not disturb.

    The images of `core` are built beside the tests of `compact`, of which the idle stack is measured last. On `core`
    the tests that need a quiet machine come first: the images of the parent release are built beside the others.
    """

    def place(item: pytest.Item) -> int:
        if stack_of(item) == "compact":
            return int(item.path.name == "test_idle.py")
        return QUIET.index(item.path.name) if item.path.name in QUIET else len(QUIET)

    for profile in ("compact", "core"):
        of_stack = sorted((item for item in items if stack_of(item) == profile), key=place)
        items[:] = [of_stack.pop(0) if stack_of(item) == profile else item for item in items]


def stack_of(item: pytest.Item) -> str | None:
    """Returns the profile of the stack that a test runs on; None if it needs none."""
    callspec = getattr(item, "callspec", None)
    return callspec.params.get("stack") if callspec else None


@pytest.fixture(scope="session")
def is_core() -> bool:
    """Whether only the most important of these tests run."""
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
def builds(engine: Engine, request: pytest.FixtureRequest) -> Iterator[Builds]:
    """Starts building the images that the selected tests need: first the demo's, then those of `core`."""
    images.make_python(engine)
    builds = Builds()
    needed = {stack_of(item) for item in request.session.items}
    for profile in ("compact", "core"):
        if profile in needed:
            builds.begin(profile, lambda profile=profile: Composed(engine, engine.folder / profile, profile))
    yield builds
    builds.close()


@pytest.fixture(scope="session")
def servers(engine: Engine, builds: Builds) -> None:
    """Makes the images of the servers while our own images are built."""
    images.make_servers(engine)


@pytest.fixture(scope="session", params=["compact"] if IS_CORE else ["compact", "core"])
def stack(engine: Engine, builds: Builds, servers: None, request: pytest.FixtureRequest) -> Composed:
    """One stack after another. Each is removed when the next one starts, and the last one is removed with the
    engine.
    """
    stack = builds.wait(request.param)
    stack.start(lambda _: None)
    tell(f"{request.param} is healthy and has its demo account")
    return stack


@pytest.fixture(autouse=True)
def parent_built_meanwhile(request: pytest.FixtureRequest) -> None:
    """Begins to build the images of the parent release when no test needs a quiet machine any more."""
    is_upgraded = any(item.path.name == "test_upgrade.py" for item in request.session.items)
    if is_upgraded and stack_of(request.node) == "core" and request.path.name not in QUIET:
        engine: Engine = request.getfixturevalue("engine")
        builds: Builds = request.getfixturevalue("builds")
        builds.begin(PARENT, lambda: parent_release(engine))


@pytest.fixture(autouse=True)
def told(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    tell(request.node.name)
