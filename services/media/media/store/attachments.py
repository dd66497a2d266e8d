"""What posts have of the media: statements.

What is not confirmed is shown and counted for minutes, then only held: the post was never stored, or its word is late.
"""

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, case, delete, func, or_, select
from sqlalchemy.dialects.postgresql import insert

from chassis.clock import clock_now
from media.models import attachments, posts

#: Publishing confirms within seconds, or died before it stored the post. Our choice.
BELIEVED_FOR = timedelta(minutes=10)


def is_believed() -> Any:
    """Of an attachment: its post is taken to be there."""
    return or_(attachments.c.confirmed, attachments.c.created_at > clock_now() - BELIEVED_FOR)


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
        operation_id: str | None = None,
    ) -> None:
        """A confirmed attachment stays confirmed; one that is not begins anew."""
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
                }
                for media_id in media_ids
            ]
        )
        merged = or_(attachments.c.confirmed, statement.excluded.confirmed)
        begun_at = case((merged, attachments.c.created_at), else_=statement.excluded.created_at)
        self._connection.execute(
            statement.on_conflict_do_update(
                index_elements=["media_id", "post_id"], set_={"confirmed": merged, "created_at": begun_at}
            )
        )

    def detach(self, post_id: str, *, until: datetime | None = None) -> None:
        """All of the post's; of provisional ones those made `until` then, or all."""
        statement = delete(attachments).where(attachments.c.post_id == post_id)
        if until is not None:
            statement = statement.where(or_(attachments.c.confirmed, attachments.c.created_at <= until))
        self._connection.execute(statement)

    def detach_earlier_tries(self, post_id: str) -> None:
        """Of a post that is stored: what the operation that made it had attached to others, which never will be."""
        made = attachments.alias()
        made_by = select(made.c.operation_id).where(made.c.post_id == post_id)
        self._connection.execute(
            delete(attachments).where(
                ~attachments.c.confirmed,
                attachments.c.post_id != post_id,
                attachments.c.operation_id.in_(made_by),
            )
        )

    def detach_others(self, post_id: str, media_ids: Collection[str], *, confirmed: bool) -> None:
        """Those of the post, confirmed or provisional, that are not among `media_ids`."""
        self._connection.execute(
            delete(attachments).where(
                attachments.c.post_id == post_id,
                attachments.c.confirmed == confirmed,
                attachments.c.media_id.not_in(media_ids),
            )
        )

    def holder(self, media_id: str) -> str | None:
        """The first post that has it, or may have."""
        statement = select(attachments.c.post_id).where(attachments.c.media_id == media_id)
        statement = statement.order_by(attachments.c.created_at, attachments.c.post_id).limit(1)
        return self._connection.execute(statement).scalar()

    def drop_provisional(self, older_than: timedelta, limit: int) -> int:
        """Those nobody confirmed."""
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

    def is_news(self, post_id: str, revision: int) -> bool:
        """Whether this word about the post is newer than all before it; it is the newest from now on."""
        statement = insert(posts).values(id=post_id, revision=revision, told_at=func.clock_timestamp())
        statement = statement.on_conflict_do_update(
            index_elements=["id"],
            set_={"revision": revision, "told_at": func.clock_timestamp()},
            where=posts.c.revision < revision,
        )
        return self._connection.execute(statement).rowcount == 1

    def forget_posts(self, older_than: timedelta, limit: int) -> int:
        """Posts last heard of long ago, whose media nobody waits for. By `now()`, which lets the index be used."""
        old = (
            select(posts.c.id)
            .where(
                posts.c.told_at < func.now() - older_than,
                ~select(attachments).where(attachments.c.post_id == posts.c.id).exists(),
            )
            .limit(limit)
        )
        return self._connection.execute(delete(posts).where(posts.c.id.in_(old))).rowcount
