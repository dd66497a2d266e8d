"""Loads the test kit for every package's tests."""

pytest_plugins = ["chassis.testkit"]
