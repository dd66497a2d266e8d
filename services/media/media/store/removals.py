"""SQL of clean-up: objects to delete (`removals`, real time), and the search for orphans (`chores`, business time)."""

from collections.abc import Collection
from datetime import timedelta
from typing import Any

from sqlalchemy import delete, func, select, union, update
from sqlalchemy.dialects.postgresql import insert

from chassis.db.clock import clock_now
from media.models import Removal, Stored, chores, media, removals, uploads
from media.store import REAL_NOW, Store, next_rows

_ORPHANS = "orphans"


class Removals(Store):
    def add(self, stored: Collection[Stored], *, lease: timedelta = timedelta()) -> None:
        """Adds removals of these objects. For the time of `lease` the background loop leaves them to the caller."""
        rows = [{"key": it.key, "slug": it.slug, "parts_id": getattr(it, "parts_id", None)} for it in stored]
        if rows:
            added = insert(removals).values([row | {"due_at": REAL_NOW + lease} for row in rows])
            self._count(added.on_conflict_do_nothing())

    def claim(self, limit: int, first_wait: timedelta, longest_wait: timedelta) -> list[Removal]:
        """Claims due removals for `first_wait`; each further time for twice as long, at most for `longest_wait`."""
        due = next_rows(removals.c.key, removals.c.due_at <= REAL_NOW, first=removals.c.due_at, limit=limit)
        wait = func.least(first_wait * func.power(2, func.least(removals.c.attempts, 20)), longest_wait)
        claim = update(removals).where(removals.c.key.in_(due))
        claim = claim.values(due_at=REAL_NOW + wait, attempts=removals.c.attempts + 1)
        return self._all(claim.returning(removals), Removal)

    def done(self, key: str) -> None:
        self._count(delete(removals).where(removals.c.key == key))

    def orphan_keys(self, keys: Collection[str]) -> set[str]:
        """Returns the keys that belong to no upload, no file and no removal."""
        known = union(*(select(it.c.key).where(it.c.key.in_(keys)) for it in (uploads, media, removals)))
        return set(keys) - set(self._connection.execute(known).scalars())

    def claim_search(self, every: timedelta) -> tuple[bool, str | None]:
        """Claims the search for orphaned objects if it is due, and makes it due again after `every`. Returns whether it
        was claimed, and the position in the list of objects at which it continues; None: the beginning.
        """
        due: dict[str, Any] = {"due_at": clock_now() + every}
        claim = insert(chores).values(name=_ORPHANS, **due)
        claim = claim.on_conflict_do_update(
            index_elements=["name"], set_=due, where=chores.c.due_at <= clock_now()
        )
        claimed = self._connection.execute(claim.returning(chores.c.position)).first()
        return claimed is not None, claimed[0] if claimed else None

    def note_search(self, position: str | None) -> None:
        """Saves the position at which the search continues at once; None: the search is done."""
        due = {} if position is None else {"due_at": clock_now()}
        self._count(update(chores).where(chores.c.name == _ORPHANS).values(position=position, **due))
