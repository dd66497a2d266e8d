"""The migrations and the models describe the same tables."""

from collections.abc import Callable

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from chassis.db.database import Database
from chassis.db.schema import metadata as chassis_metadata
from webhooks.models import metadata


def test_the_migrations_make_exactly_the_models(open_database: Callable[[str], Database]) -> None:
    database = open_database("webhooks")
    foreign = {*chassis_metadata.tables, "clock_shift", "alembic_version"}
    with database.reading() as connection:
        context = MigrationContext.configure(
            connection, opts={"include_name": lambda name, kind, _: kind != "table" or name not in foreign}
        )
        assert compare_metadata(context, metadata) == []
