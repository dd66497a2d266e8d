"""Fixtures of the tests under faults: one stack for all of them, over links that fail; sizes; figures.

`./dev test --faults` runs them in full, `./dev test --faults --core` a small part of each.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))

from fault_kit.figures import Figures
from fault_kit.stack import FaultyStack, faulty_stack

_FIGURES = pytest.StashKey[Figures]()


def pytest_configure(config: pytest.Config) -> None:
    run = Path(os.environ["TEST_RUN_DIR"])
    config.stash[_FIGURES] = Figures(run / "figures.json", os.environ["FAULTS"])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    terminalreporter.section(f"figures ({os.environ['FAULTS']})")
    for line in config.stash[_FIGURES].lines():
        terminalreporter.line(line)


@pytest.fixture(scope="session")
def is_core() -> bool:
    """Whether only a small part of everything is done."""
    return os.environ["FAULTS"] == "core"


@pytest.fixture(scope="session")
def figures(pytestconfig: pytest.Config) -> Figures:
    return pytestconfig.stash[_FIGURES]


@pytest.fixture(scope="session")
def stack() -> Iterator[FaultyStack]:
    with faulty_stack(Path(os.environ["TEST_RUN_DIR"])) as stack:
        yield stack


@pytest.fixture(autouse=True)
def mended(stack: FaultyStack) -> Iterator[None]:
    """Every test begins and leaves with what works."""
    stack.await_ready(30.0)
    yield
    stack.mend()
