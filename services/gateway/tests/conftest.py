"""A gateway over a fake bus: its calls to services are recorded, and the test sets their answers."""

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from flask.testing import FlaskClient
from gateway_kit.fake_bus import NOW, PAGE, POST, RESULT, TOKEN, USER, FakeBus, admitted, identity

from chassis.db.database import Database
from gateway.app import create_app
from gateway.config import Config
from gateway.periodic import PeriodicTask
from gateway.services import Services


@pytest.fixture
def bus() -> FakeBus:
    return FakeBus()


@pytest.fixture
def kit() -> Any:
    """The records and functions of gateway_kit.fake_bus."""
    return SimpleNamespace(
        NOW=NOW,
        TOKEN=TOKEN,
        PAGE=PAGE,
        POST=POST,
        RESULT=RESULT,
        USER=USER,
        identity=identity,
        admitted=admitted,
    )


@pytest.fixture
def make_gateway(bus: FakeBus) -> Iterator[Callable[..., FlaskClient]]:
    """`make_gateway(database, setting=…)` returns a client that sends the token. Without `database` the gateway cannot
    reach its database.
    """
    all_services: list[Services] = []
    tasks: list[PeriodicTask] = []

    def make(database: Database | None = None, **settings: Any) -> FlaskClient:
        nowhere = "postgresql+psycopg2://nobody@127.0.0.1:1/nothing"
        config = Config(amqp_url="", database_url=nowhere, **settings)
        services = Services(config, bus=bus, database=database)
        all_services.append(services)
        if database is not None:
            tasks.append(PeriodicTask(0.001, services.keys.answers.write).start())
        client = create_app(services).test_client()
        client.environ_base["HTTP_AUTHORIZATION"] = f"Bearer {TOKEN}"
        client.request_log = services.request_log  # type: ignore[attr-defined]
        return client

    yield make
    for task in tasks:
        task.stop()
    for services in all_services:
        services.close()


@pytest.fixture
def client(make_gateway: Callable[..., FlaskClient]) -> FlaskClient:
    """A client of a gateway that cannot reach its own database."""
    return make_gateway()
