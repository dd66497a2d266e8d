"""The migrations and the models describe the same columns."""

from collections.abc import Callable
from datetime import timedelta
from types import NoneType
from typing import Any, get_args, get_type_hints

from sqlalchemy import TableClause, inspect, text
from sqlalchemy.dialects import postgresql
from sqlalchemy.types import TypeEngine

from chassis.db.database import Database
from chassis.db.schema import metadata as chassis_metadata
from contracts.record import Record
from media import models
from testkit.schema import TO_DROP


def test_times_are_utc_in_any_server_time_zone(database_for: Callable[[str], str]) -> None:
    url = database_for("media")
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


def test_the_migrations_make_exactly_the_columns_of_the_models(
    open_database: Callable[[str], Database],
) -> None:
    rows: dict[TableClause, type[Record]] = {
        models.uploads: models.Upload,
        models.media: models.Media,
        models.renditions: models.Rendition,
        models.removals: models.Removal,
    }
    nullable = {table: _optional(row) for table, row in rows.items()} | {
        models.attachments: {"operation_id"},
        models.posts: set(),
        models.deletions: set(),
        models.chores: {"position"},
    }
    inspector = inspect(open_database("media").engine)
    made = set(inspector.get_table_names()) - {*chassis_metadata.tables, "clock_shift", "alembic_version"}
    assert made == {table.name for table in nullable}
    for table, optional in nullable.items():
        columns = {
            column["name"]: column
            for column in inspector.get_columns(table.name)
            if f"{table.name}.{column['name']}" not in TO_DROP["media"]
        }
        assert {name: _kind(it["type"]) for name, it in columns.items()} == {
            it.name: _kind(it.type) for it in table.c
        }
        assert {name for name, it in columns.items() if it["nullable"]} == optional


def _optional(row: type[Record]) -> set[str]:
    return {name for name, hint in get_type_hints(row).items() if NoneType in get_args(hint)}


def _kind(of: TypeEngine[Any]) -> str:
    """Returns the name of a column's type. Integers of four and of eight bytes have the same name."""
    return str(of.compile(dialect=postgresql.dialect())).replace("BIGINT", "INTEGER")
