"""SQL of periodic work that one replica does at a time."""

from datetime import timedelta

from sqlalchemy import Connection, select, update
from sqlalchemy.dialects.postgresql import insert

from chassis.db.clock import clock_now
from media.models import chores


class Chores:
    """The turns of periodic work: which process takes one, and how far it came. Uses an open database connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def claim(self, name: str, every: timedelta) -> bool:
        """Claims the work if it is due. It is due again after `every`."""
        statement = insert(chores).values(name=name, due_at=clock_now() + every)
        statement = statement.on_conflict_do_update(
            index_elements=["name"],
            set_={"due_at": clock_now() + every},
            where=chores.c.due_at <= clock_now(),
        )
        return self._connection.execute(statement).rowcount == 1

    def position(self, name: str) -> str | None:
        """Returns where the work continues; None: at the beginning."""
        return self._connection.execute(select(chores.c.position).where(chores.c.name == name)).scalar()

    def note(self, name: str, position: str | None) -> None:
        """Saves where the work continues; None: it has come to its end."""
        self._connection.execute(update(chores).where(chores.c.name == name).values(position=position))

    def continue_now(self, name: str) -> None:
        """Makes the work due at once, because there is more to do."""
        self._connection.execute(update(chores).where(chores.c.name == name).values(due_at=clock_now()))
