"""Loads the test kit for every package's tests, and sets the order of the tests."""

import gc
import signal

import hypothesis
import pytest
import structlog

# Before pytest meets simulator/tests: under importlib mode that folder would take the package's name.
import simulator  # noqa: F401
from chassis.runtime import garbage
from testkit import kept_work

pytest_plugins = ["testkit.fixtures"]

# Nearly all that is made while tests are collected stays: looking through it takes a quarter of that time.
gc.disable()

kept_work.keep()

# No test is timed: on a busy machine any example can take a second.
hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")


# Plain tracebacks: with all local variables one takes 50 ms.
structlog.configure(
    processors=[
        *structlog.get_config()["processors"][:-1],
        structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback),
    ]
)


#: In the paths of the files that take longest, because their tests start processes or explore many interleavings.
LONGEST = (
    "survival",
    "under_faults",
    "test_comments.py",
    "test_description.py",
    "test_films.py",
    "test_hostile_urls.py",
    "test_traces.py",
    "deploy/tests",
    "tests/foreign",
    "tests/e2e",
    "tests/service",
    "interleavings",
    "machine",
)


class AtOnce:
    """Names each failed test when it fails, with the first line of its reason: a run of half an hour may be ended
    before its summary.
    """

    def __init__(self, terminal: pytest.TerminalReporter) -> None:
        self._terminal = terminal

    @pytest.hookimpl(trylast=True)  # the summary counts it first
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            reason = str(crash.message if crash else report.longrepr or "").partition("\n")[0]
            self._terminal.ensure_newline()
            self._terminal.write_line(f"failed ({report.when}): {report.nodeid}: {reason[:300]}")


@pytest.hookimpl(trylast=True)  # after the terminal's reporter is there
def pytest_configure(config: pytest.Config) -> None:
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    if terminal and not hasattr(config, "workerinput"):
        config.pluginmanager.register(AtOnce(terminal))
        # A run that is ended (deploy/local/local/testing/runs.py) prints its summary, as after Ctrl-C.
        signal.signal(signal.SIGTERM, signal.default_int_handler)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts the longest files first, so that all processes end at about the same time, and tests marked `alone` last."""

    def order(item: pytest.Item) -> tuple[bool, int]:
        path = item.nodeid.partition("::")[0]
        rank = next((number for number, part in enumerate(LONGEST) if part in path), len(LONGEST))
        return item.get_closest_marker("alone") is not None, rank

    items.sort(key=order)


def pytest_collection_finish() -> None:
    """Excludes all present objects from garbage collection: they come from imports and would never be collected."""
    garbage.settle()
    gc.enable()
