"""The migrations and the models describe the same tables."""

import importlib.util
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy import text

from chassis.database import Database
from chassis.migrate import migrations_of
from chassis.schema import metadata as chassis_metadata
from publishing.models import metadata


def test_times_come_in_utc_whatever_zone_the_server_has(database_for: Callable[[str], str]) -> None:
    url = database_for("publishing")
    setting = Database(url)
    with setting.transaction() as connection:
        connection.execute(
            text(f"ALTER DATABASE \"{setting.engine.url.database}\" SET timezone = 'Asia/Tokyo'")
        )
    setting.close()
    database = Database(url)
    for connect in (database.reading, database.transaction):
        with connect() as connection:
            assert connection.execute(text("SELECT clock_now()")).scalar_one().utcoffset() == timedelta(0)
    database.close()


def test_the_migrations_make_exactly_the_models(open_database: Callable[[str], Database]) -> None:
    database = open_database("publishing")
    foreign = {*chassis_metadata.tables, "workers", "clock_shift", "alembic_version"}
    with database.reading() as connection:
        context = MigrationContext.configure(
            connection, opts={"include_name": lambda name, kind, _: kind != "table" or name not in foreign}
        )
        assert compare_metadata(context, metadata) == []


@pytest.mark.parametrize("is_valid", [True, False])
def test_an_index_made_by_hand_is_taken_over_unless_its_making_was_cut_off(
    open_database: Callable[[str], Database], is_valid: bool
) -> None:
    listed = text("SELECT indexrelid, indisvalid FROM pg_index WHERE indexrelid = 'posts_listed'::regclass")
    with open_database("publishing").transaction() as connection:
        connection.execute(text("CREATE INDEX posts_scheduled ON posts (account_id)"))
        connection.execute(
            text("UPDATE pg_index SET indisvalid = :valid WHERE indexrelid = 'posts_listed'::regclass"),
            {"valid": is_valid},
        )
        before = connection.execute(listed).one()
        upgrade(connection, "0010_listing")
        after = connection.execute(listed).one()
    assert after.indisvalid
    assert (after.indexrelid == before.indexrelid) is is_valid


def upgrade(connection: Any, name: str) -> None:
    """One migration alone."""
    spec = importlib.util.spec_from_file_location(name, migrations_of("publishing") / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    migration = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(migration)
    with Operations.context(MigrationContext.configure(connection)):
        migration.upgrade()
