"""Fixture: a browser at the login of each platform."""

from collections.abc import Callable

import pytest
from flask.testing import FlaskClient
from simulator_kit.logins import LOGINS, Browser

from simulator.config import Settings


@pytest.fixture(params=LOGINS)
def browser(request: pytest.FixtureRequest, client: FlaskClient, settings: Settings) -> Browser:
    return Browser(client, settings, request.param)


@pytest.fixture
def at(client: FlaskClient, settings: Settings) -> Callable[[str], Browser]:
    return lambda platform: Browser(client, settings, platform)
