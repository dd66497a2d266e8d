"""SQL of the table `removals`: the objects that must still be deleted from the storage. All times are real time."""

from collections.abc import Collection
from datetime import timedelta

from sqlalchemy import Connection, delete, func, select, text, update
from sqlalchemy.dialects.postgresql import insert

from media.models import media, removals, uploads
from media.records import Removal, Stored, Upload


class Removals:
    """Reads and writes the list of objects that must still be deleted, over an open connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def add(self, stored: Collection[Stored], *, lease: timedelta = timedelta()) -> None:
        """Adds the objects of these files or uploads to the list.

        With a `lease` the loop waits that long before it deletes them, because the caller tries first.
        """
        if not stored:
            return
        rows = [
            {
                "key": it.key,
                "slug": it.slug,
                "parts_id": it.parts_id if isinstance(it, Upload) else None,
                "due_at": func.clock_timestamp() + lease,
            }
            for it in stored
        ]
        self._connection.execute(insert(removals).values(rows).on_conflict_do_nothing())

    def claim(self, limit: int, lease: timedelta) -> list[Removal]:
        """Claims rows of the list whose objects are due. A row can be claimed again after the lease, unless `done` has
        deleted it."""
        due = (
            select(removals.c.key)
            .where(removals.c.due_at <= func.clock_timestamp())
            .order_by(removals.c.due_at)
            .limit(limit)
            .with_for_update(skip_locked=True)
        )
        statement = (
            update(removals)
            .where(removals.c.key.in_(due))
            .values(due_at=func.clock_timestamp() + lease, attempts=removals.c.attempts + 1)
            .returning(removals)
        )
        return [Removal.of(row) for row in self._connection.execute(statement).mappings()]

    def postpone(self, key: str, wait: timedelta) -> None:
        statement = update(removals).where(removals.c.key == key)
        self._connection.execute(statement.values(due_at=func.clock_timestamp() + wait))

    def done(self, keys: Collection[str]) -> None:
        self._connection.execute(delete(removals).where(removals.c.key.in_(keys)))

    def orphan_keys(self, keys: Collection[str]) -> set[str]:
        """Returns the keys that belong to no upload and no file, and that are not on the list either."""
        known = text(
            f"SELECT key FROM {uploads.name} WHERE key = ANY(:keys) UNION SELECT key FROM {media.name}"
            f" WHERE key = ANY(:keys) UNION SELECT key FROM {removals.name} WHERE key = ANY(:keys)"
        )
        return set(keys) - set(self._connection.execute(known, {"keys": list(keys)}).scalars())
