"""A login whose refresh tokens work once, and pages whose tokens it renews."""

from typing import Any

import pytest
from publishing_kit.renewals import FakeLogin, Renewals
from publishing_kit.world import World


@pytest.fixture
def login(app: Any) -> FakeLogin:
    login = FakeLogin()
    app.logins = {"FB": login}
    return login


@pytest.fixture
def renewals(world: World, login: FakeLogin) -> Renewals:
    return Renewals(world)
