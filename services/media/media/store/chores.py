"""Work that one replica does now and then: statements."""

from datetime import timedelta

from sqlalchemy import Connection
from sqlalchemy.dialects.postgresql import insert

from chassis.clock import clock_now
from media.models import chores


class Chores:
    """Chores over an open connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def claim(self, name: str, every: timedelta) -> bool:
        """Whether it is due, and ours; it is due again after `every`."""
        statement = insert(chores).values(name=name, due_at=clock_now() + every)
        statement = statement.on_conflict_do_update(
            index_elements=["name"],
            set_={"due_at": clock_now() + every},
            where=chores.c.due_at <= clock_now(),
        )
        return self._connection.execute(statement).rowcount == 1
