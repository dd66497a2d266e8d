"""A gateway with its idempotency keys in a real database."""

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import text

from chassis.db.database import Database
from gateway.idempotency.keys import IdempotencyKeys


@pytest.fixture
def database(open_database: Callable[[str], Database]) -> Database:
    return open_database("gateway")


@pytest.fixture
def client(make_gateway: Any, database: Database) -> Any:
    return make_gateway(database)


@pytest.fixture
def keys(database: Database) -> IdempotencyKeys:
    return IdempotencyKeys(database)


@pytest.fixture
def key_count(database: Database) -> Callable[[], int]:
    """Counts the stored keys."""

    def count() -> int:
        with database.reading() as connection:
            return int(connection.execute(text("SELECT count(*) FROM idempotency_keys")).scalar_one())

    return count
