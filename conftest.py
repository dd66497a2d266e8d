"""Loads the test kit for every package's tests."""

# Before pytest meets simulator/tests: under importlib mode that folder would take the package's name.
import simulator  # noqa: F401

pytest_plugins = ["chassis.testkit"]
