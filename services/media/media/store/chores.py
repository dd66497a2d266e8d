"""SQL of chores: periodic work that only one replica does at a time."""

from datetime import timedelta
from typing import Any

from sqlalchemy import select, update
from sqlalchemy.dialects.postgresql import insert

from chassis.db.clock import clock_now
from media.models import chores
from media.store import Store


class Chores(Store):
    """Stores when each chore is due and how far it has come. Uses an open connection."""

    def claim(self, name: str, every: timedelta) -> bool:
        """Claims the named chore if it is due, and makes it due again after `every`. Returns whether it was claimed."""
        due: dict[str, Any] = {"due_at": clock_now() + every}
        claim = (
            insert(chores)
            .values(name=name, **due)
            .on_conflict_do_update(index_elements=["name"], set_=due, where=chores.c.due_at <= clock_now())
        )
        return self._count(claim) == 1

    def position(self, name: str) -> str | None:
        """Returns the position at which the named chore continues. None means at the beginning."""
        return self._connection.execute(select(chores.c.position).where(chores.c.name == name)).scalar()

    def note(self, name: str, position: str | None, *, is_due: bool = False) -> None:
        """Saves the position at which the named chore continues. None means that it begins from the start next time.

        `is_due`: whether the chore is due again at once, because there is more to do.
        """
        due = {"due_at": clock_now()} if is_due else {}
        self._count(update(chores).where(chores.c.name == name).values(position=position, **due))
