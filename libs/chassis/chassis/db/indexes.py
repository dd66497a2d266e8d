"""Indexes that a migration adds to a table with rows, built before the migration so that writing goes on meanwhile.

A migration names them: `INDEXES = {"posts_open": "posts (page_id) WHERE state = 'open'"}`. `chassis.migrate` builds
them right before its `upgrade`, with CREATE INDEX CONCURRENTLY, which cannot run in a transaction. So an index and the
column or the table that it is on are added by two migrations. Indexes whose places they take are named in `DROPS`, a
tuple: they are dropped before `upgrade`, CONCURRENTLY as well.
"""

from collections.abc import Collection, Mapping

import structlog
from sqlalchemy import Connection, text

log = structlog.get_logger()

#: False: its building was cut off. Such an index is kept up to date, and no query uses it.
_IS_VALID = text("SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(:name)")


def build(connection: Connection, indexes: Mapping[str, str]) -> None:
    """Builds the indexes that are missing, on a connection in autocommit; for one that is there nothing is locked.

    May wait for as long as the oldest transaction lasts.
    """
    for name, definition in indexes.items():
        is_valid = connection.execute(_IS_VALID, {"name": name}).scalar()
        if is_valid:
            continue
        if is_valid is not None:
            connection.execute(text(f"DROP INDEX CONCURRENTLY {name}"))
        log.info("building_index", index=name)
        connection.execute(text(f"CREATE INDEX CONCURRENTLY {name} ON {definition}"))


def drop(connection: Connection, names: Collection[str]) -> None:
    """Drops indexes that are there, on a connection in autocommit; statements on their table go on meanwhile."""
    for name in names:
        connection.execute(text(f"DROP INDEX CONCURRENTLY IF EXISTS {name}"))
