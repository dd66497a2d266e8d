"""Prometheus' programs, to check rules, settings and the queries of dashboards."""

import pytest

from local.testing.programs import program_or_skip


@pytest.fixture(scope="session")
def prometheus() -> str:
    return program_or_skip("prometheus", "prometheus")


@pytest.fixture(scope="session")
def promtool() -> str:
    return program_or_skip("promtool", "prometheus")
