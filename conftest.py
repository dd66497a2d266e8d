"""Loads the test kit for every package's tests."""

import hypothesis

# Before pytest meets simulator/tests: under importlib mode that folder would take the package's name.
import simulator  # noqa: F401

pytest_plugins = ["chassis.testkit"]

# No test is timed: on a busy machine any example can take a second.
hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")
