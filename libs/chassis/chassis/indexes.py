"""Indexes that a migration adds to a large table, built before the migration so that writing goes on meanwhile.

A migration names them: `INDEXES = {"posts_open": "posts (page_id) WHERE state = 'open'"}`, and calls
`create_missing(op, INDEXES)` in its `upgrade`. Before the migrations run, `chassis.migrate` builds those of every
pending one with CREATE INDEX CONCURRENTLY, which cannot run in a transaction. Where that is not possible (a new
database, or a column that a pending migration adds), `create_missing` builds them with the table closed to writing.
"""

from collections.abc import Mapping
from typing import Any

import structlog
from psycopg2.errors import UndefinedColumn
from sqlalchemy import Connection, text
from sqlalchemy.exc import ProgrammingError

log = structlog.get_logger()

_TABLE = text("SELECT to_regclass(:name)")
#: One whose building was cut off: it is kept up to date, and answers nothing.
_BROKEN = text("SELECT 1 FROM pg_index WHERE indexrelid = to_regclass(:name) AND NOT indisvalid")


def build(connection: Connection, indexes: Mapping[str, str]) -> bool:
    """Builds what is missing, on a connection in autocommit; may wait for as long as the oldest transaction lasts.

    False where a table or a column is not there yet: that is left to the migration.
    """
    for name, definition in indexes.items():
        if connection.execute(_TABLE, {"name": definition.split()[0]}).scalar() is None:
            return False
        if connection.execute(_BROKEN, {"name": name}).first():
            connection.execute(text(f"DROP INDEX CONCURRENTLY {name}"))
        log.info("building_index", index=name)
        try:
            connection.execute(text(f"CREATE INDEX CONCURRENTLY IF NOT EXISTS {name} ON {definition}"))
        except ProgrammingError as error:
            if isinstance(error.orig, UndefinedColumn):
                return False
            raise
    return True


def create_missing(op: Any, indexes: Mapping[str, str]) -> None:
    """In a migration's `upgrade`: what `build` could not build yet."""
    for name, definition in indexes.items():
        op.execute(f"CREATE INDEX IF NOT EXISTS {name} ON {definition}")
