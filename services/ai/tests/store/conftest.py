"""A new AI database, its clock, and a way to let a process on it die."""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta

import pytest
from ai_kit.fuse import Fuse
from ai_kit.payment_provider import FakePaymentProvider
from ai_kit.refills import NOON, Set, wish

from chassis.db import clock
from chassis.db.database import Database


@pytest.fixture
def database(database_for: Callable[[str], str]) -> Iterator[Database]:
    database = Database(database_for("ai"), pool_size=24)
    yield database
    database.close()


@pytest.fixture
def at(database: Database) -> Callable[[datetime], None]:
    """`at(moment)` sets the clock."""

    def set_clock(moment: datetime) -> None:
        with database.transaction() as connection:
            unshifted = clock.now(connection) - timedelta(seconds=clock.shift_seconds(connection))
            clock.set_shift(connection, (moment - unshifted).total_seconds())

    return set_clock


@pytest.fixture
def fuse(database: Database) -> Fuse:
    return Fuse(database)


@pytest.fixture
def till() -> FakePaymentProvider:
    return FakePaymentProvider()


@pytest.fixture
def wished(database: Database, at: Set) -> None:
    at(NOON)
    wish(database)
