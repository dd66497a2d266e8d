"""SQL of renditions. Leases are in real time.

The column `asked_at`, when a rendition was last asked for, is in the time of `clock_now()`.
"""

from collections.abc import Collection
from datetime import timedelta
from typing import Any

import msgspec
from sqlalchemy import Connection, and_, case, delete, func, or_, select, update
from sqlalchemy.dialects.postgresql import insert

from chassis.db.clock import clock_now
from chassis.ids import new_id
from contracts.renditions import Need
from media.models import attachments, media, renditions
from media.records import MediaRow, Rendition

_REAL_NOW = func.clock_timestamp()
_IS_NEEDED = renditions.c.state != "unneeded"


class Renditions:
    """Reads and writes renditions over an open connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def ask(self, row: MediaRow, need: Need, slug: str, *, again: bool) -> Rendition:
        """Returns the rendition of a file for a need. If there is none, adds it as pending.

        `again` makes a failed rendition pending again. The file's row must exist: lock it, or check it in the same
        transaction.
        """
        statement = insert(renditions).values(
            id=new_id("rnd"),
            media_id=row.id,
            need_key=need.key,
            need=msgspec.to_builtins(need),
            kind=row.kind,
            state="pending",
            slug=slug,
            asked_at=clock_now(),
        )
        changed: dict[str, Any] = {"asked_at": clock_now()}
        if again:
            is_failed = renditions.c.state == "failed"
            changed |= {
                "state": case((is_failed, "pending"), else_=renditions.c.state),
                "tries": case((is_failed, 0), else_=renditions.c.tries),
            }
        statement = statement.on_conflict_do_update(
            index_elements=["media_id", "need_key"], index_where=_IS_NEEDED, set_=changed
        )
        return _rendition(self._connection.execute(statement.returning(renditions)).mappings().one())

    def get(self, rendition_id: str) -> Rendition | None:
        found = self._connection.execute(select(renditions).where(renditions.c.id == rendition_id))
        row = found.mappings().first()
        return _rendition(row) if row else None

    def made(self, media_id: str, slug: str) -> Rendition | None:
        """Returns the file's finished rendition that has the name `slug`; None if there is none."""
        own = (renditions.c.media_id == media_id, renditions.c.slug == slug, renditions.c.state == "made")
        row = self._connection.execute(select(renditions).where(*own)).mappings().first()
        return _rendition(row) if row else None

    def claim(self, rendition_id: str, lease: timedelta) -> Rendition | None:
        """Claims a pending rendition and returns it. Returns None if it is not pending, or claimed already."""
        claimed = self._claim(renditions.c.id == rendition_id, lease)
        return claimed[0] if claimed else None

    def claim_due(self, kind: str, limit: int, lease: timedelta) -> list[Rendition]:
        """Claims pending renditions of photos or videos. The one that was asked for most recently comes first.

        A post that is due asks again and again. A post for next month has asked only once.
        """
        due = (
            select(renditions.c.id)
            .where(renditions.c.kind == kind, _is_free())
            .order_by(renditions.c.asked_at.desc())
            .limit(limit)
            .with_for_update(skip_locked=True)
        )
        return self._claim(renditions.c.id.in_(due), lease)

    def renew(self, rendition_id: str, progress: float, lease: timedelta) -> None:
        """Renews the claim on a rendition, and stores how much of the rendition is done (`progress`)."""
        statement = update(renditions).where(renditions.c.id == rendition_id, renditions.c.state == "pending")
        self._connection.execute(statement.values(lease_until=_REAL_NOW + lease, progress=progress))

    def put_off(self, rendition_id: str, wait: timedelta, *, counts: bool) -> None:
        """Ends the claim on a rendition, and makes the rendition due again after `wait`.

        `counts`: whether the claim counts as an attempt to make the rendition.
        """
        statement = update(renditions).where(renditions.c.id == rendition_id, renditions.c.state == "pending")
        tries = renditions.c.tries if counts else func.greatest(renditions.c.tries - 1, 0)
        self._connection.execute(statement.values(lease_until=_REAL_NOW + wait, tries=tries))

    def record(self, rendition_id: str, **facts: Any) -> bool:
        """Stores that the rendition is made, with its size, width and so on. Returns False if the file is gone."""
        statement = update(renditions).where(renditions.c.id == rendition_id, _IS_NEEDED)
        made = self._connection.execute(statement.values(lease_until=None, state="made", **facts))
        return made.rowcount == 1

    def fail(self, rendition_id: str, failure: str) -> None:
        """Stores why the rendition cannot be made. If another process has made it meanwhile, nothing changes."""
        statement = update(renditions).where(renditions.c.id == rendition_id, renditions.c.state == "pending")
        self._connection.execute(statement.values(lease_until=None, state="failed", failure=failure))

    def mark_unneeded(self, unused_for: timedelta, limit: int) -> int:
        """Marks renditions as unneeded, for later deletion. Returns how many.

        Nobody has asked for them during `unused_for`, and their file is attached to no post.
        """
        is_held = select(attachments).where(attachments.c.media_id == renditions.c.media_id).exists()
        unused = (
            select(renditions.c.id)
            .where(
                renditions.c.asked_at < clock_now() - unused_for,
                _IS_NEEDED,
                ~is_held,
                or_(renditions.c.lease_until.is_(None), renditions.c.lease_until < _REAL_NOW),
            )
            .limit(limit)
            .with_for_update(skip_locked=True)
        )
        statement = update(renditions).where(renditions.c.id.in_(unused)).values(state="unneeded")
        return self._connection.execute(statement).rowcount

    def unneeded(self, limit: int) -> list[tuple[str, str]]:
        """Returns the ids and object names of renditions that are marked as unneeded."""
        name = media.c.key + "/" + renditions.c.slug
        statement = select(renditions.c.id, name).join(media, media.c.id == renditions.c.media_id)
        rows = self._connection.execute(statement.where(~_IS_NEEDED).limit(limit))
        return [(row[0], row[1]) for row in rows]

    def remove(self, rendition_ids: Collection[str]) -> None:
        self._connection.execute(delete(renditions).where(renditions.c.id.in_(rendition_ids), ~_IS_NEEDED))

    def _claim(self, condition: Any, lease: timedelta) -> list[Rendition]:
        statement = (
            update(renditions)
            .where(condition, _is_free())
            .values(lease_until=_REAL_NOW + lease, tries=renditions.c.tries + 1)
        )
        rows = self._connection.execute(statement.returning(renditions)).mappings()
        return [_rendition(row) for row in rows]


def _is_free() -> Any:
    is_unclaimed = or_(renditions.c.lease_until.is_(None), renditions.c.lease_until < _REAL_NOW)
    return and_(renditions.c.state == "pending", is_unclaimed)


def _rendition(row: Any) -> Rendition:
    return Rendition.of({**row, "need": msgspec.convert(row["need"], Need)})
