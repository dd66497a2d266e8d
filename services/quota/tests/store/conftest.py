"""A new quota database, and the admissions of two processes."""

from collections.abc import Callable, Iterator

import pytest

from chassis.db.database import Database
from quota.admission import Admissions
from quota.config import QuotaConfig

CONFIG = QuotaConfig(upgrade_url="https://example.test/upgrade")


@pytest.fixture
def quota_url(database_for: Callable[[str], str]) -> str:
    return database_for("quota")


@pytest.fixture
def database(quota_url: str) -> Iterator[Database]:
    database = Database(quota_url)
    yield database
    database.close()


@pytest.fixture
def admissions(database: Database) -> Admissions:
    return Admissions(database, CONFIG)


@pytest.fixture
def replicas(quota_url: str) -> Iterator[tuple[Admissions, Admissions]]:
    """The admissions of two processes, with separate connections to one database."""
    databases = Database(quota_url), Database(quota_url)
    yield Admissions(databases[0], CONFIG), Admissions(databases[1], CONFIG)
    for database in databases:
        database.close()
