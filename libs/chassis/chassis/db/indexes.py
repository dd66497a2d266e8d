"""Indexes that a migration adds to an existing table, built before the migration without blocking writers.

A migration names them: `INDEXES = {"posts_open": "posts (page_id) WHERE state = 'open'"}`. `chassis.migrate` builds
them right before the migration's `upgrade`, with CREATE INDEX CONCURRENTLY, which cannot run in a transaction. So the
column or table must come from an earlier migration. The tuple `DROPS` names old indexes that the new ones replace. They
are dropped CONCURRENTLY before `upgrade` too.
"""

from collections.abc import Collection, Mapping

import structlog
from sqlalchemy import Connection, text

log = structlog.get_logger()

#: False: building it was interrupted. Such an index is updated, but no query uses it.
_IS_VALID = text("SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(:name)")


def build(connection: Connection, indexes: Mapping[str, str]) -> None:
    """Builds the indexes (name → definition) that are missing, or whose building was interrupted.

    The connection must be in autocommit. Building may wait until the oldest transaction ends. A complete index is left
    alone and not locked.
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
    """Drops the indexes of these names that exist, without blocking statements on their table.

    The connection must be in autocommit.
    """
    for name in names:
        connection.execute(text(f"DROP INDEX CONCURRENTLY IF EXISTS {name}"))
