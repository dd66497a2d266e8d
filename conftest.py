"""Loads the test kit for every package's tests."""

import hypothesis

# Before pytest meets simulator/tests: under importlib mode that folder would take the package's name.
import simulator  # noqa: F401
from chassis.runtime import garbage

pytest_plugins = ["testkit.fixtures"]

# No test is timed: on a busy machine any example can take a second.
hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")


def pytest_collection_finish() -> None:
    """Everything is imported by now: the collector need not look through it again and again."""
    garbage.settle()
