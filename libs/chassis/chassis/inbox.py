"""Events received: recorded in the transaction of their effect, so that one that comes twice has one effect."""

from datetime import timedelta

from sqlalchemy import Connection, delete, func, select
from sqlalchemy.dialects.postgresql import insert

from chassis.schema import inbox

#: Longer than any redelivery: retries end within minutes, a quarantined event is replayed by hand. Our choice.
KEPT = timedelta(days=30)


def record(connection: Connection, event_id: str) -> bool:
    """Whether this event is new; call it in the transaction of the effect."""
    result = connection.execute(insert(inbox).values(event_id=event_id).on_conflict_do_nothing())
    return result.rowcount == 1


def sweep_once(connection: Connection, limit: int = 1000) -> int:
    """Forgets events older than KEPT, a small batch at a time; returns how many."""
    old = select(inbox.c.event_id).where(inbox.c.received_at < func.clock_timestamp() - KEPT).limit(limit)
    return connection.execute(delete(inbox).where(inbox.c.event_id.in_(old))).rowcount
