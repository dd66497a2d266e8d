"""Pages whose tokens are renewed, and a login whose refresh tokens work only once."""

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
