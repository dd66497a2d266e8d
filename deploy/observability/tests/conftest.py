"""Provides Prometheus' programs for checking rules, settings and dashboard queries."""

import os

import pytest

from local.processes.table import NotReady
from local.servers import prometheus


@pytest.fixture(scope="session")
def programs() -> prometheus.Prometheus:
    try:
        return prometheus.provide(print)
    except NotReady as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def promtool(programs: prometheus.Prometheus) -> str:
    return programs.promtool
