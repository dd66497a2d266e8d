"""SQL of attachments: which files belong to which posts. A provisional one counts as use of its file for COUNTED_FOR.
After that it only prevents that the file is removed, because the post's event may be late.
"""

from collections.abc import Collection
from datetime import timedelta
from typing import Any

from sqlalchemy import and_, case, delete, func, or_, select, tuple_, update
from sqlalchemy.dialects.postgresql import insert

from chassis.db.clock import clock_now
from media.models import attachments, posts
from media.store import REAL_NOW, Store, next_rows

#: Publishing confirms within seconds, or died before it stored the post. Our choice.
COUNTED_FOR = timedelta(minutes=10)
#: The SQL condition for attachments that count as a use of their file.
IS_COUNTED = or_(attachments.c.confirmed, attachments.c.created_at > clock_now() - COUNTED_FOR)


class Attachments(Store):
    def attach(self, media_ids: Collection[str], **row: Any) -> None:
        """Attaches files to a post; `row` has the further columns. A file that is attached already stays confirmed; a
        provisional one counts for COUNTED_FOR from now on.
        """
        if not media_ids:
            return
        row["created_at"] = clock_now()
        statement = insert(attachments).values([row | {"media_id": media_id} for media_id in media_ids])
        old, new = attachments.c, statement.excluded
        merged = or_(old.confirmed, new.confirmed)
        changed = {
            "confirmed": merged,
            "created_at": case((merged, old.created_at), else_=new.created_at),
            "revision": func.greatest(old.revision, new.revision),
        }
        self._count(statement.on_conflict_do_update(index_elements=["media_id", "post_id"], set_=changed))

    def detach(self, post_id: str) -> None:
        self._count(delete(attachments).where(attachments.c.post_id == post_id))

    def release(self, post_id: str, revision: int, keep: Collection[str] = ()) -> None:
        """Detaches those files of a post that were attached for a revision up to `revision`. Files attached for a later
        revision become provisional again. The media ids in `keep` are left as they are.
        """
        others = and_(attachments.c.post_id == post_id, attachments.c.media_id.not_in(keep))
        self._count(delete(attachments).where(others, attachments.c.revision <= revision))
        later = update(attachments).where(others, attachments.c.confirmed)
        self._count(later.values(confirmed=False, created_at=clock_now()))

    def detach_earlier_tries(self, post_id: str) -> None:
        """Detaches the provisional files of other posts that the same operation tried to make, and did not store."""
        made = attachments.alias()
        made_by = select(made.c.operation_id).where(made.c.post_id == post_id)
        of_earlier = and_(attachments.c.post_id != post_id, attachments.c.operation_id.in_(made_by))
        self._count(delete(attachments).where(~attachments.c.confirmed, of_earlier))

    def detach_provisional(self, post_id: str, keep: Collection[str]) -> None:
        """Detaches a post's provisional files, except for the media ids in `keep`."""
        others = and_(attachments.c.post_id == post_id, attachments.c.media_id.not_in(keep))
        self._count(delete(attachments).where(~attachments.c.confirmed, others))

    def holder(self, media_id: str) -> str | None:
        """Returns the id of the first post to which the file is attached, also provisionally."""
        statement = select(attachments.c.post_id).where(attachments.c.media_id == media_id)
        statement = statement.order_by(attachments.c.created_at, attachments.c.post_id).limit(1)
        return self._connection.execute(statement).scalar()

    def drop_provisional(self, older_than: timedelta, limit: int) -> int:
        """Drops up to `limit` attachments that were provisional for longer than `older_than`. Returns how many."""
        is_old = and_(~attachments.c.confirmed, attachments.c.created_at < clock_now() - older_than)
        key = (attachments.c.media_id, attachments.c.post_id)
        old = select(*key).where(is_old).limit(limit).with_for_update(skip_locked=True)
        return self._count(delete(attachments).where(tuple_(*key).in_(old), ~attachments.c.confirmed))

    def record_revision(self, post_id: str, revision: int) -> bool:
        """Records the newest revision of a post's files. Returns False when it, or a newer one, is recorded already."""
        told = {"revision": revision, "told_at": REAL_NOW}
        added, is_newer = insert(posts).values(id=post_id, **told), posts.c.revision < revision
        return self._count(added.on_conflict_do_update(index_elements=["id"], set_=told, where=is_newer)) == 1

    def forget_posts(self, older_than: timedelta, limit: int) -> int:
        """Examines up to `limit` posts of which nothing was heard for `older_than`: forgets those without files, and
        marks the others as heard of now. Returns how many posts it examined.
        """
        is_old = posts.c.told_at < func.now() - older_than  # `clock_timestamp()` would not use the index
        found = self._connection.execute(next_rows(posts.c.id, is_old, first=posts.c.told_at, limit=limit))
        is_found = posts.c.id.in_(found.scalars().all())
        has_files = select(attachments).where(attachments.c.post_id == posts.c.id).exists()
        examined = self._count(update(posts).where(is_found, has_files).values(told_at=REAL_NOW))
        return examined + self._count(delete(posts).where(is_found, ~has_files))
