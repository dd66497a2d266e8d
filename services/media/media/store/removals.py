"""SQL of the table `removals`: the objects that must still be deleted from the storage. All times are real time."""

from collections.abc import Collection
from datetime import timedelta

from sqlalchemy import delete, func, text, update
from sqlalchemy.dialects.postgresql import insert

from media.models import Removal, Stored, Upload, media, removals, uploads
from media.store import REAL_NOW, Store, next_rows


class Removals(Store):
    """Reads and writes the list of objects that must still be deleted, over an open connection."""

    def add(self, stored: Collection[Stored], *, lease: timedelta = timedelta()) -> None:
        """Adds the objects of these files or uploads to the list.

        With a `lease` the loop waits that long before it deletes them, because the caller tries first.
        """
        rows = [
            {"key": it.key, "slug": it.slug, "parts_id": it.parts_id if isinstance(it, Upload) else None}
            for it in stored
        ]
        if rows:
            added = insert(removals).values([row | {"due_at": REAL_NOW + lease} for row in rows])
            self._count(added.on_conflict_do_nothing())

    def claim(self, limit: int, first_wait: timedelta, longest_wait: timedelta) -> list[Removal]:
        """Claims rows of the list whose objects are due, and makes them due again: after `first_wait` the first time,
        then after twice as long each time, at most `longest_wait`. `done` deletes a row."""
        due = next_rows(removals.c.key, removals.c.due_at <= REAL_NOW, first=removals.c.due_at, limit=limit)
        wait = func.least(first_wait * func.power(2, func.least(removals.c.attempts, 20)), longest_wait)
        claim = update(removals).where(removals.c.key.in_(due))
        claim = claim.values(due_at=REAL_NOW + wait, attempts=removals.c.attempts + 1)
        return self._all(claim.returning(removals), Removal)

    def done(self, key: str) -> None:
        self._count(delete(removals).where(removals.c.key == key))

    def orphan_keys(self, keys: Collection[str]) -> set[str]:
        """Returns the keys that belong to no upload and no file, and that are not on the list either."""
        known = text(
            f"SELECT key FROM {uploads.name} WHERE key = ANY(:keys) UNION SELECT key FROM {media.name}"
            f" WHERE key = ANY(:keys) UNION SELECT key FROM {removals.name} WHERE key = ANY(:keys)"
        )
        return set(keys) - set(self._connection.execute(known, {"keys": list(keys)}).scalars())
