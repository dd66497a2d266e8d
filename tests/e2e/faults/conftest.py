"""Fixtures of the tests under faults: a stack for each test process whose connections can fail, the size of a test,
and the recorded figures.

`./dev test --faults` runs the tests in two processes, and those marked `quiet` by themselves afterwards. With `--core`
it runs a small part of each.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from fault_kit.figures import Figures, lines
from fault_kit.stack import FaultyStack, faulty_stack


def pytest_configure() -> None:
    """Creates and selects a run directory for the stack of this test process."""
    run = Path(os.environ["TEST_RUN_DIR"], os.environ.get("PYTEST_XDIST_WORKER", ""))
    run.mkdir(exist_ok=True)
    os.environ["TEST_RUN_DIR"] = str(run)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.section(f"figures ({os.environ['FAULTS']})")
    for line in lines(Path(os.environ["TEST_RUN_DIR"])):
        terminalreporter.line(line)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Runs tests that take `is_slow` on quick platforms; with --slow on slow ones; with --core on both."""
    if "is_slow" in metafunc.fixturenames:
        is_core, is_slow = os.environ["FAULTS"] == "core", "TEST_SLOW" in os.environ
        kinds = (False, True) if is_core else (is_slow,)
        metafunc.parametrize("is_slow", kinds, ids=["slow" if slow else "quick" for slow in kinds])


@pytest.fixture(scope="session")
def is_core() -> bool:
    """Whether only the core runs: a small part of each test."""
    return os.environ["FAULTS"] == "core"


@pytest.fixture(scope="session")
def figures() -> Figures:
    return Figures(Path(os.environ["TEST_RUN_DIR"]), os.environ["FAULTS"])


@pytest.fixture(scope="session")
def stack() -> Iterator[FaultyStack]:
    with faulty_stack(Path(os.environ["TEST_RUN_DIR"])) as stack:
        yield stack


@pytest.fixture(autouse=True)
def mended(stack: FaultyStack) -> Iterator[None]:
    """Repairs links and clocks before and after each test."""
    stack.await_ready(30.0)
    yield
    stack.mend()
