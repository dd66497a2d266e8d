"""SQL of chores: periodic work that only one replica does at a time."""

from datetime import timedelta

from sqlalchemy import Connection, select, update
from sqlalchemy.dialects.postgresql import insert

from chassis.db.clock import clock_now
from media.models import chores


class Chores:
    """Stores when each chore is due and how far it has come. Uses an open connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def claim(self, name: str, every: timedelta) -> bool:
        """Claims the named chore if it is due, and makes it due again after `every`. Returns whether it was claimed."""
        statement = insert(chores).values(name=name, due_at=clock_now() + every)
        statement = statement.on_conflict_do_update(
            index_elements=["name"],
            set_={"due_at": clock_now() + every},
            where=chores.c.due_at <= clock_now(),
        )
        return self._connection.execute(statement).rowcount == 1

    def position(self, name: str) -> str | None:
        """Returns the position at which the named chore continues. None means at the beginning."""
        return self._connection.execute(select(chores.c.position).where(chores.c.name == name)).scalar()

    def note(self, name: str, position: str | None) -> None:
        """Saves the position at which the named chore continues. None means that the chore has come to its end."""
        self._connection.execute(update(chores).where(chores.c.name == name).values(position=position))

    def continue_now(self, name: str) -> None:
        """Makes the named chore due at once, because there is more to do."""
        self._connection.execute(update(chores).where(chores.c.name == name).values(due_at=clock_now()))
