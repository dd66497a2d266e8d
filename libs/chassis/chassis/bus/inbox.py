"""Records received events in the transaction of their effect, so that a repeated event has one effect."""

from collections.abc import Sequence
from datetime import timedelta

from sqlalchemy import Connection, delete, func, select, text
from sqlalchemy.dialects.postgresql import insert

from chassis.db.database import Compiled, Database
from chassis.db.schema import inbox

#: Longer than any redelivery: retries end within minutes, and operators replay quarantined events by hand. Our choice.
KEPT = timedelta(days=30)
_BATCH = 1000
#: `now()` is real time too, and STABLE, so that it can use the index; `clock_timestamp()` would read every row.
_FORGET = delete(inbox).where(
    inbox.c.event_id.in_(
        select(inbox.c.event_id).where(inbox.c.received_at < func.now() - KEPT).limit(_BATCH)
    )
)
#: Sorted by id, so that two replicas with the same events cannot deadlock.
_RECORD_ALL = Compiled(
    text(
        """
        INSERT INTO inbox (event_id) SELECT DISTINCT event_id FROM unnest(CAST(:event_ids AS text[])) AS new (event_id)
        ORDER BY event_id ON CONFLICT DO NOTHING RETURNING event_id
        """
    )
)


def record(connection: Connection, event_id: str) -> bool:
    """Records an event, and returns whether it is new. Call it in the transaction of the effect."""
    result = connection.execute(insert(inbox).values(event_id=event_id).on_conflict_do_nothing())
    return result.rowcount == 1


def record_all(connection: Connection, event_ids: Sequence[str]) -> set[str]:
    """Records events, and returns the ids of the new ones. Call it in the transaction of the effects."""
    return {row[0] for row in _RECORD_ALL.run(connection, {"event_ids": list(event_ids)})}


def sweep(database: Database) -> int:
    """Deletes records older than KEPT, in a transaction for each small batch. Returns how many it deleted."""
    swept, batch = 0, _BATCH
    while batch == _BATCH:
        with database.transaction() as connection:
            batch = connection.execute(_FORGET).rowcount
        swept += batch
    return swept
