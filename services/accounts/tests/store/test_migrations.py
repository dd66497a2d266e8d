"""The migrations make the tables that models.py describes."""

from collections.abc import Callable

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from accounts.models import metadata
from chassis.db import schema
from chassis.db.database import Database


def test_the_migrated_database_is_what_the_models_say(open_database: Callable[[str], Database]) -> None:
    chassis_tables = {*schema.metadata.tables, "clock_shift", "alembic_version"}
    with open_database("accounts").engine.connect() as connection:
        ours = {"include_name": lambda name, kind, _parents: kind != "table" or name not in chassis_tables}
        context = MigrationContext.configure(connection, opts=ours)
        assert compare_metadata(context, metadata) == []
