"""SQL of attachments.

A provisional attachment is shown and counted for minutes. After that it only keeps the file: either the post was never
stored, or its event is late.
"""

from collections.abc import Collection
from datetime import timedelta
from typing import Any

from sqlalchemy import Connection, and_, case, delete, func, or_, select, text, update
from sqlalchemy.dialects.postgresql import insert

from chassis.db.clock import clock_now
from media.models import attachments, posts

#: Publishing confirms within seconds, or died before it stored the post. Our choice.
COUNTED_FOR = timedelta(minutes=10)

#: Compares with `now()`, so that the index is used.
_FORGET_POSTS = text(
    """
    WITH old AS (
        SELECT id, EXISTS (SELECT FROM attachments a WHERE a.post_id = p.id) AS holds FROM posts p
        WHERE told_at < now() - :older_than ORDER BY told_at LIMIT :limit FOR UPDATE SKIP LOCKED
    ), kept AS (
        UPDATE posts SET told_at = clock_timestamp() WHERE id IN (SELECT id FROM old WHERE holds))
    DELETE FROM posts WHERE id IN (SELECT id FROM old WHERE NOT holds)
    """
)


def is_counted() -> Any:
    """Returns the condition of attachments that protect their file: the post is confirmed, or may still be made."""
    return or_(attachments.c.confirmed, attachments.c.created_at > clock_now() - COUNTED_FOR)


class Attachments:
    """Attachments over an open connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def attach(
        self,
        account_id: str,
        post_id: str,
        media_ids: Collection[str],
        *,
        confirmed: bool,
        revision: int,
        operation_id: str | None = None,
    ) -> None:
        """Attaches files for a revision of a post. A confirmed attachment stays confirmed; a provisional one begins
        anew.
        """
        if not media_ids:
            return
        statement = insert(attachments).values(
            [
                {
                    "media_id": media_id,
                    "post_id": post_id,
                    "account_id": account_id,
                    "confirmed": confirmed,
                    "created_at": clock_now(),
                    "operation_id": operation_id,
                    "revision": revision,
                }
                for media_id in media_ids
            ]
        )
        merged = or_(attachments.c.confirmed, statement.excluded.confirmed)
        begun_at = case((merged, attachments.c.created_at), else_=statement.excluded.created_at)
        self._connection.execute(
            statement.on_conflict_do_update(
                index_elements=["media_id", "post_id"],
                set_={
                    "confirmed": merged,
                    "created_at": begun_at,
                    "revision": func.greatest(attachments.c.revision, statement.excluded.revision),
                },
            )
        )

    def detach(self, post_id: str) -> None:
        """Detaches all files of a post."""
        self._connection.execute(delete(attachments).where(attachments.c.post_id == post_id))

    def release(self, post_id: str, revision: int, keep: Collection[str] = ()) -> None:
        """Ends what a post holds up to a revision, except for the media ids in `keep`.

        A file that was attached for a later revision stays, as a provisional attachment. So does a provisional one
        whose revision is not known.
        """
        others = and_(attachments.c.post_id == post_id, attachments.c.media_id.not_in(keep))
        is_known = or_(attachments.c.confirmed, attachments.c.revision > 0)
        self._connection.execute(
            delete(attachments).where(others, is_known, attachments.c.revision <= revision)
        )
        self._connection.execute(
            update(attachments)
            .where(others, attachments.c.confirmed)
            .values(confirmed=False, created_at=clock_now())
        )

    def detach_earlier_tries(self, post_id: str) -> None:
        """Detaches what earlier tries of the operation that made this post had attached to posts that will
        never exist.
        """
        made = attachments.alias()
        made_by = select(made.c.operation_id).where(made.c.post_id == post_id)
        self._connection.execute(
            delete(attachments).where(
                ~attachments.c.confirmed,
                attachments.c.post_id != post_id,
                attachments.c.operation_id.in_(made_by),
            )
        )

    def detach_provisional(self, post_id: str, keep: Collection[str]) -> None:
        """Detaches a post's provisional files, except for the media ids in `keep`."""
        self._connection.execute(
            delete(attachments).where(
                attachments.c.post_id == post_id,
                ~attachments.c.confirmed,
                attachments.c.media_id.not_in(keep),
            )
        )

    def holder(self, media_id: str) -> str | None:
        """Returns the first post that has the media, or may have it."""
        statement = select(attachments.c.post_id).where(attachments.c.media_id == media_id)
        statement = statement.order_by(attachments.c.created_at, attachments.c.post_id).limit(1)
        return self._connection.execute(statement).scalar()

    def drop_provisional(self, older_than: timedelta, limit: int) -> int:
        """Drops old attachments that were never confirmed. Returns how many."""
        old = (
            select(attachments.c.media_id, attachments.c.post_id)
            .where(~attachments.c.confirmed, attachments.c.created_at < clock_now() - older_than)
            .limit(limit)
            .with_for_update(skip_locked=True)
            .cte()
        )
        statement = delete(attachments).where(
            attachments.c.media_id == old.c.media_id,
            attachments.c.post_id == old.c.post_id,
            ~attachments.c.confirmed,
        )
        return self._connection.execute(statement).rowcount

    def record_revision(self, post_id: str, revision: int) -> bool:
        """Records a post's revision. Returns False when a revision as new or newer is known."""
        statement = insert(posts).values(id=post_id, revision=revision, told_at=func.clock_timestamp())
        statement = statement.on_conflict_do_update(
            index_elements=["id"],
            set_={"revision": revision, "told_at": func.clock_timestamp()},
            where=posts.c.revision < revision,
        )
        return self._connection.execute(statement).rowcount == 1

    def forget_posts(self, older_than: timedelta, limit: int) -> int:
        """Checks the posts of which nothing was heard for the longest time, at least `older_than`, and forgets those
        that hold no media. Returns how many.

        The others are marked as seen now, so that they are not checked again and again.
        """
        statement = _FORGET_POSTS.bindparams(older_than=older_than, limit=limit)
        return self._connection.execute(statement).rowcount
