"""The migrations and the models describe the same tables."""

from collections.abc import Callable
from datetime import timedelta

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import text

from chassis.db.database import Database
from chassis.db.schema import metadata as chassis_metadata
from publishing.models import posts


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
        assert compare_metadata(context, posts.metadata) == []
