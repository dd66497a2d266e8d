"""Work that one replica does now and then: statements."""

from datetime import timedelta

from sqlalchemy import Connection, select, update
from sqlalchemy.dialects.postgresql import insert

from chassis.db.clock import clock_now
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

    def position(self, name: str) -> str | None:
        """How far it had come; None: from the beginning."""
        return self._connection.execute(select(chores.c.position).where(chores.c.name == name)).scalar()

    def note(self, name: str, position: str | None) -> None:
        """How far it has come; None: to its end."""
        self._connection.execute(update(chores).where(chores.c.name == name).values(position=position))

    def go_on(self, name: str) -> None:
        """There is more to do: it is due at once."""
        self._connection.execute(update(chores).where(chores.c.name == name).values(due_at=clock_now()))
