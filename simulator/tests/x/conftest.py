"""Fixtures: a client of the simulated X, and the posts that X holds."""

from collections.abc import Callable
from typing import Any

import pytest
from flask.testing import FlaskClient
from simulator_kit.x import Caller


@pytest.fixture
def x(new_account: Callable[..., Any]) -> Caller:
    return Caller(new_account("TW", name="Corner Bakery", username="cornerbakery"))


@pytest.fixture
def held(client: FlaskClient) -> Callable[[], list[dict[str, Any]]]:
    return lambda: client.get("/_sim/posts?platform=TW").get_json()["posts"]
