"""Fixtures of the end-to-end tests.

Tests marked `alone` move the clock or kill processes: no other test runs beside them on their stack (`./dev test`).
"""

import itertools
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from e2e_kit import secrecy
from e2e_kit.api import Api
from e2e_kit.chromium import Browser, Chromium
from e2e_kit.files import sample
from e2e_kit.operator import Account, Accounts, Clock, Operator
from e2e_kit.private import own_stack
from e2e_kit.simulator import Simulator
from e2e_kit.stack import Stack

from local.processes.table import NotReady
from local.servers import browser as installed

FOLDER = Path(__file__).parent
#: Set by `./dev test --faults` to core or full.
collect_ignore = [] if "FAULTS" in os.environ else ["faults"]
#: The process that uses the stack of `./dev test` in a run with own stacks.
FIRST = "gw0"
#: Whether this process starts a stack of its own.
HAS_OWN_STACK = "TEST_OWN_STACKS" in os.environ and os.environ.get("PYTEST_XDIST_WORKER", FIRST) != FIRST


def pytest_configure() -> None:
    """Selects the run directory of the stack that belongs to this test process."""
    if HAS_OWN_STACK:
        os.environ["TEST_RUN_DIR"] = str(Path(os.environ["TEST_RUN_DIR"], os.environ["PYTEST_XDIST_WORKER"]))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if FOLDER in item.path.parents:
            item.add_marker(pytest.mark.e2e)
        if item.get_closest_marker("prompt") and "TEST_SLOW" in os.environ:
            item.add_marker(pytest.mark.skip("it works only with platforms that answer at once"))


@pytest.fixture(scope="session", autouse=True)
def secret_logs() -> Iterator[None]:
    """Asserts at the end of the session that the stack's logs hold no secret and no text of a user."""
    yield
    run = Path(os.environ.get("TEST_RUN_DIR", ""))
    if (run / "logs").is_dir():
        secrecy.check(run)


@pytest.fixture(scope="session")
def stack() -> Iterator[Stack]:
    assert "TEST_RUN_DIR" in os.environ, "run these tests with ./dev test: it starts a stack for them"
    run = Path(os.environ["TEST_RUN_DIR"])
    if not HAS_OWN_STACK:
        yield Stack(run)
        return
    with own_stack(run) as stack:
        yield stack


@pytest.fixture(scope="session")
def operator(stack: Stack) -> Iterator[Operator]:
    operator = Operator(stack)
    yield operator
    operator.close()


@pytest.fixture(scope="session")
def simulator(stack: Stack) -> Iterator[Simulator]:
    simulator = Simulator(stack.env["SIMULATOR_URL"])
    yield simulator
    simulator.close()


@pytest.fixture(scope="module")
def accounts(operator: Operator, stack: Stack) -> Iterator[Accounts]:
    accounts = Accounts(operator, stack.base_url)
    yield accounts
    accounts.close()


@pytest.fixture(scope="module")
def shared(accounts: Accounts) -> Account:
    """An Elite account that the tests of one file share, for tests that do not disturb each other."""
    return accounts.new(pages=("FB", "IG", "LN", "TT", "TW", "YT"))


@pytest.fixture
def account(accounts: Accounts) -> Account:
    """A fresh Elite account with a page on Facebook and one on Instagram."""
    return accounts.new(pages=("FB", "IG"))


@pytest.fixture
def api(account: Account) -> Api:
    return account.api


@pytest.fixture
def clock(operator: Operator) -> Iterator[Clock]:
    """The clock shift of the stack, for tests marked `alone`. It is reset to real time afterwards."""
    clock = Clock(operator)
    yield clock
    clock.reset()


@pytest.fixture
def photo(stack: Stack) -> str:
    return stack.env["SAMPLE_PHOTO_URL"]


@pytest.fixture
def video(stack: Stack) -> str:
    return stack.env["SAMPLE_VIDEO_URL"]


@pytest.fixture(scope="session")
def jpeg(stack: Stack) -> bytes:
    return sample(stack.env["SIMULATOR_URL"], stack.env["SAMPLE_PHOTO_URL"])


@pytest.fixture(scope="session")
def png(stack: Stack) -> bytes:
    return sample(stack.env["SIMULATOR_URL"], stack.env["SAMPLE_PHOTO_URL"].replace(".jpg", ".png"))


@pytest.fixture(scope="session")
def webm(stack: Stack) -> bytes:
    return sample(stack.env["SIMULATOR_URL"], stack.env["SAMPLE_VIDEO_URL"].replace(".mp4", ".webm"))


@pytest.fixture(scope="session")
def mp4(stack: Stack) -> bytes:
    return sample(stack.env["SIMULATOR_URL"], stack.env["SAMPLE_VIDEO_URL"])


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A browser. If none is installed, the tests that need it are skipped, except in CI."""
    try:
        programs = installed.install(print)
    except NotReady as missing:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(missing))
    browser = Browser(programs, (tmp_path_factory.mktemp("chromium") for _ in itertools.count()))
    yield browser
    browser.close()


@pytest.fixture(scope="module")
def window(browser: Browser) -> Chromium:
    """A browser window without cookies or anything else that the tests of another file left."""
    return browser.window()
