"""SQL of renditions. Leases are in real time; `asked_at`, when a rendition was last asked for, is by `clock_now()`."""

from collections.abc import Collection
from datetime import timedelta
from typing import Any

import msgspec
from sqlalchemy import and_, case, delete, func, select, update
from sqlalchemy.dialects.postgresql import insert

from chassis.db.clock import clock_now
from chassis.ids import new_id
from contracts.media import MIME_TYPES
from contracts.renditions import Need
from media import names
from media.models import MediaRow, Rendition, attachments, media, renditions
from media.store import REAL_NOW, Store, is_unleased, next_rows

_IS_NEEDED = renditions.c.state != "unneeded"
_IS_FREE = and_(renditions.c.state == "pending", is_unleased(renditions))


class Renditions(Store):
    def ask(self, row: MediaRow, need: Need, *, again: bool = False) -> Rendition:
        """Returns the rendition of a file for a need, pending if it is new, and stores that it was asked for now.
        `again` makes a failed one pending. The file's row must exist: lock it, or check it in this transaction.
        """
        asked: dict[str, Any] = {"asked_at": clock_now()}
        of_need = {"need_key": need.key, "need": msgspec.to_builtins(need), "state": "pending"}
        slug = names.rendition_slug(row.slug, MIME_TYPES[need.mime_type][0])
        new = {"id": new_id("rnd"), "media_id": row.id, "kind": row.kind, "slug": slug}
        statement = insert(renditions).values(**new, **of_need, **asked)
        if again:
            is_failed = renditions.c.state == "failed"
            asked["state"] = case((is_failed, "pending"), else_=renditions.c.state)
            asked["tries"] = case((is_failed, 0), else_=renditions.c.tries)
        statement = statement.on_conflict_do_update(
            index_elements=["media_id", "need_key"], index_where=_IS_NEEDED, set_=asked
        )
        [rendition] = self._all(statement.returning(renditions), Rendition)
        return rendition

    def get(self, rendition_id: str) -> Rendition | None:
        return self._first(select(renditions).where(renditions.c.id == rendition_id), Rendition)

    def made(self, media_id: str, slug: str) -> Rendition | None:
        """Returns the file's finished rendition that has the name `slug`."""
        own = and_(renditions.c.media_id == media_id, renditions.c.slug == slug)
        return self._first(select(renditions).where(own, renditions.c.state == "made"), Rendition)

    def claim(self, rendition_id: str, lease: timedelta) -> Rendition | None:
        """Claims a rendition. Returns None if it is not pending, or claimed already."""
        return self._first(_claim(renditions.c.id == rendition_id, lease), Rendition)

    def claim_due(self, kind: str, limit: int, lease: timedelta) -> list[Rendition]:
        """Claims pending renditions of photos or of videos (`kind`), those first that were asked for last."""
        # A post that is due asks again and again, a post for next month has asked only once.
        is_due, latest = and_(renditions.c.kind == kind, _IS_FREE), renditions.c.asked_at.desc()
        due = next_rows(renditions.c.id, is_due, first=latest, limit=limit)
        return self._all(_claim(renditions.c.id.in_(due), lease), Rendition)

    def renew(self, rendition_id: str, progress: float, lease: timedelta) -> None:
        """Renews the claim on a pending rendition, and stores the share that is made (`progress`)."""
        self._change(rendition_id, lease_until=REAL_NOW + lease, progress=progress)

    def put_off(self, rendition_id: str, wait: timedelta, *, counts: bool) -> None:
        """Ends a claim; the rendition is due again after `wait`. `counts`: whether the claim counts as a try."""
        tries = renditions.c.tries if counts else func.greatest(renditions.c.tries - 1, 0)
        self._change(rendition_id, lease_until=REAL_NOW + wait, tries=tries)

    def fail(self, rendition_id: str, failure: str) -> None:
        """Stores why the rendition cannot be made, unless another process has made it meanwhile."""
        self._change(rendition_id, lease_until=None, state="failed", failure=failure)

    def record(self, rendition_id: str, **facts: Any) -> bool:
        """Stores that a rendition is made, with size, width and so on. Returns False if it is gone or unneeded."""
        made = update(renditions).where(renditions.c.id == rendition_id, _IS_NEEDED)
        return self._count(made.values(lease_until=None, state="made", **facts)) == 1

    def mark_unneeded(self, unused_for: timedelta, limit: int) -> int:
        """Marks up to `limit` renditions of unattached files that nobody asked for during `unused_for`."""
        is_held = select(attachments).where(attachments.c.media_id == renditions.c.media_id).exists()
        is_old = and_(_IS_NEEDED, renditions.c.asked_at < clock_now() - unused_for)
        is_unused = and_(is_old, ~is_held, is_unleased(renditions))
        unused = next_rows(renditions.c.id, is_unused, first=renditions.c.asked_at, limit=limit)
        return self._count(update(renditions).where(renditions.c.id.in_(unused)).values(state="unneeded"))

    def unneeded(self, limit: int) -> list[tuple[str, str]]:
        """Returns the ids and object names of renditions that `mark_unneeded` has marked."""
        name = media.c.key + "/" + renditions.c.slug
        statement = select(renditions.c.id, name).join(media, media.c.id == renditions.c.media_id)
        found = self._connection.execute(statement.where(~_IS_NEEDED).limit(limit))
        return [(row[0], row[1]) for row in found]

    def remove(self, rendition_ids: Collection[str]) -> None:
        self._count(delete(renditions).where(renditions.c.id.in_(rendition_ids), ~_IS_NEEDED))

    def _change(self, rendition_id: str, **values: Any) -> None:
        is_pending = and_(renditions.c.id == rendition_id, renditions.c.state == "pending")
        self._count(update(renditions).where(is_pending).values(values))


def _claim(condition: Any, lease: timedelta) -> Any:
    claim = update(renditions).where(condition, _IS_FREE)
    return claim.values(lease_until=REAL_NOW + lease, tries=renditions.c.tries + 1).returning(renditions)
