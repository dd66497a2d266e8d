"""SQL of files (table `media`)."""

from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec.structs import asdict
from sqlalchemy import ColumnElement, Connection, delete, func, select, text, tuple_, update
from sqlalchemy.dialects.postgresql import insert

from chassis.db.clock import clock_now
from chassis.db.ranges import distinct_values
from chassis.ids import is_id
from contracts.renditions import FileFacts
from media.models import attachments, deletions, media
from media.records import MediaRow, Upload
from media.store.attachments import is_counted

#: Posts of a file that are named, our choice: as many as a person looks through one by one.
_POSTS_NAMED = 10
_HAS_IT = (attachments.c.media_id == media.c.id, is_counted())
_POST_IDS = func.array(
    select(attachments.c.post_id)
    .where(*_HAS_IT)
    .order_by(attachments.c.created_at, attachments.c.post_id)
    .limit(_POSTS_NAMED)
    .scalar_subquery()
).label("scheduled_post_ids")
_POST_COUNT = (
    select(func.count())
    .select_from(attachments)
    .where(*_HAS_IT)
    .scalar_subquery()
    .label("scheduled_post_count")
)
_ALL = select(media, _POST_IDS, _POST_COUNT)
_place = tuple_(media.c.created_at, media.c.id)
_NEWEST_FIRST = media.c.created_at.desc(), media.c.id.desc()

#: A place in the list of files: time and id of a file.
Place = tuple[datetime, str]


_RESTRICTED = "account_id = :account_id AND brand_ids <> '{}'"
#: Ids, newest first, under each brand restriction within the caller's reach. An account has one restriction per
#: restricted token, however many files.
_NEWEST_WITHIN = text(
    f"""
    WITH RECURSIVE {distinct_values("restrictions", "media", "brand_ids", _RESTRICTED)}
    SELECT head.id FROM restrictions, LATERAL (
        SELECT id, created_at FROM media
        WHERE {_RESTRICTED} AND brand_ids = restrictions.brand_ids AND (created_at, id) < (:before_at, :before_id)
        ORDER BY created_at DESC, id DESC LIMIT :limit) head
    WHERE restrictions.brand_ids <@ CAST(:reach AS text[]) ORDER BY head.created_at DESC, head.id DESC LIMIT :limit
    """
)
_LAST = datetime.max.replace(tzinfo=UTC)
#: Files that a page of a narrowed list reads at most: the next page goes on there.
_READ = 1_000


def narrowing(kind: str | None, unused: bool, search: str | None) -> list[ColumnElement[bool]]:
    """Returns the SQL conditions of a filtered list of files.

    `kind`: photos or videos only. `unused`: only files that no post has or had. `search`: only names with this text.
    """
    found = []
    if kind is not None:
        prefix = "image/" if kind == "photo" else "video/"
        found.append(media.c.mime_type.startswith(prefix))
    if unused:
        found += [media.c.published_at.is_(None), ~select(attachments).where(*_HAS_IT).exists()]
    if search is not None:
        found.append(media.c.filename.icontains(search, autoescape=True))
    return found


class Files:
    """Reads and writes the rows of files, over an open database connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def add(self, media_id: str, upload: Upload, facts: FileFacts) -> bool:
        """Turns an upload into a file. Returns False if there is already a file of this upload or of its AI
        generation."""
        copied = ("account_id", "brand_ids", "operation_id", "generated", "key", "filename", "slug")
        statement = insert(media).values(
            id=media_id,
            upload_id=upload.id,
            created_at=clock_now(),
            **{name: value for name, value in asdict(facts).items() if name != "type"},
            **{name: getattr(upload, name) for name in copied},
        )
        return self._connection.execute(statement.on_conflict_do_nothing()).rowcount == 1

    def get(self, media_id: str) -> MediaRow | None:
        if not is_id(media_id):
            return None
        return self._one(media.c.id == media_id)

    def by_upload(self, upload_id: str) -> MediaRow | None:
        if not is_id(upload_id):
            return None
        return self._one(media.c.upload_id == upload_id)

    def by_operation(self, account_id: str, operation_id: str | None) -> MediaRow | None:
        """Returns the file that AI generated for this operation; None if there is none."""
        return self._one(
            media.c.account_id == account_id, media.c.operation_id == operation_id, media.c.generated
        )

    def by_key(self, key: str) -> MediaRow | None:
        return self._one(media.c.key == key)

    def many(self, media_ids: Collection[str], *, lock: bool = False) -> dict[str, MediaRow]:
        """Returns files by id. With `lock` nobody else can change or delete them until the transaction ends."""
        media_ids = [media_id for media_id in media_ids if is_id(media_id)]
        if lock:
            chosen = select(media.c.id).where(media.c.id.in_(media_ids)).order_by(media.c.id)
            self._connection.execute(chosen.with_for_update())
        rows = self._connection.execute(_ALL.where(media.c.id.in_(media_ids))).mappings()
        return {row["id"]: MediaRow.of(row) for row in rows}

    def newest(
        self,
        account_id: str,
        *,
        brand_ids: Collection[str] | None,
        after: Place | None,
        limit: int,
        narrowed: Sequence[ColumnElement[bool]] = (),
        end: Place | None = None,
    ) -> list[MediaRow]:
        """Returns files, newest first.

        `after`: (created_at, id) of the last row of the page before. `brand_ids`: the brands that the caller's token
        may use, None for all. `narrowed`: only files that meet these conditions. `end`: no file older than the one at
        this place.
        """
        most = _READ if narrowed else limit
        statement = _ALL.where(*self._within(account_id, brand_ids, after, most), *narrowed)
        if end is not None:
            statement = statement.where(_place >= end)
        statement = statement.order_by(*_NEWEST_FIRST).limit(limit)
        return [MediaRow.of(row) for row in self._connection.execute(statement).mappings()]

    def newest_end(
        self, account_id: str, *, brand_ids: Collection[str] | None, after: Place | None
    ) -> Place | None:
        """Returns the place at which a filtered list must stop; None if it may read the whole list."""
        statement = select(media.c.created_at, media.c.id)
        statement = statement.where(*self._within(account_id, brand_ids, after, _READ))
        statement = statement.order_by(*_NEWEST_FIRST).offset(_READ - 1).limit(1)
        row = self._connection.execute(statement).first()
        return None if row is None else (row[0], row[1])

    def _within(
        self, account_id: str, brand_ids: Collection[str] | None, after: Place | None, most: int
    ) -> list[ColumnElement[bool]]:
        """Returns the conditions of the first `most` files within the caller's reach that come behind `after`."""
        found = [] if after is None else [_place < after]
        if brand_ids is None:
            return [media.c.account_id == account_id, *found]
        before_at, before_id = after or (_LAST, "")
        values = {"account_id": account_id, "reach": list(brand_ids), "limit": most}
        values |= {"before_at": before_at, "before_id": before_id}
        return [media.c.id.in_(self._connection.execute(_NEWEST_WITHIN, values).scalars().all()), *found]

    def remove(self, media_id: str) -> bool:
        return self._connection.execute(delete(media).where(media.c.id == media_id)).rowcount == 1

    def note_deleted(self, account_id: str, media_id: str, operation_id: str) -> None:
        values = {"account_id": account_id, "media_id": media_id, "operation_id": operation_id}
        statement = insert(deletions).values(**values, deleted_at=clock_now())
        self._connection.execute(statement.on_conflict_do_nothing())

    def deleted_by_operation(self, account_id: str, operation_id: str | None) -> str | None:
        """Returns the id of the file that this operation deleted; None if it deleted none."""
        own = (deletions.c.account_id == account_id, deletions.c.operation_id == (operation_id or ""))
        return self._connection.execute(select(deletions.c.media_id).where(*own)).scalar()

    def forget_deleted(self, older_than: timedelta, limit: int) -> int:
        old = select(deletions.c.operation_id).where(deletions.c.deleted_at < clock_now() - older_than)
        statement = delete(deletions).where(deletions.c.operation_id.in_(old.limit(limit)))
        return self._connection.execute(statement).rowcount

    def claim_without_thumbnail(self, limit: int, lease: timedelta) -> list[MediaRow]:
        """Claims files without a thumbnail, the latest due first. Each can be claimed again after the lease."""
        due = (
            select(media.c.id)
            .where(media.c.thumbnail_size_bytes.is_(None), media.c.thumbnail_due_at <= func.clock_timestamp())
            .order_by(media.c.thumbnail_due_at.desc())
            .limit(limit)
            .with_for_update(skip_locked=True)
        )
        statement = (
            update(media)
            .where(media.c.id.in_(due))
            .values(thumbnail_due_at=func.clock_timestamp() + lease)
            .returning(media.c.id)
        )
        return list(self.many(self._connection.execute(statement).scalars().all()).values())

    def put_off_thumbnail(self, media_id: str, wait: timedelta) -> None:
        statement = update(media).where(media.c.id == media_id)
        self._connection.execute(statement.values(thumbnail_due_at=func.clock_timestamp() + wait))

    def set_thumbnail(self, media_id: str, size_bytes: int) -> bool:
        """Stores the size of the file's thumbnail, or 0 if none can be made. Returns False if the file is gone."""
        statement = update(media).where(media.c.id == media_id).values(thumbnail_size_bytes=size_bytes)
        return self._connection.execute(statement).rowcount == 1

    def mark_published(self, media_ids: Collection[str]) -> None:
        self._connection.execute(
            update(media)
            .where(media.c.id.in_(media_ids), media.c.published_at.is_(None))
            .values(published_at=clock_now())
        )

    def mark_attached(self, media_ids: Collection[str]) -> None:
        self._connection.execute(
            update(media)
            .where(media.c.id.in_(media_ids), media.c.attached_at.is_(None))
            .values(attached_at=clock_now())
        )

    def take_unused(self, older_than: timedelta, limit: int) -> list[MediaRow]:
        """Deletes and returns generated files that no post has ever used (spec "AI generation")."""
        unused = (
            select(media.c.id)
            .where(
                media.c.generated,
                media.c.attached_at.is_(None),
                media.c.created_at < clock_now() - older_than,
                ~select(attachments).where(attachments.c.media_id == media.c.id).exists(),
            )
            .order_by(media.c.created_at)
            .limit(limit)
            .with_for_update(skip_locked=True)
        )
        found = self.many(self._connection.execute(unused).scalars().all())
        # Locked after they were chosen: an attachment made in between is visible now.
        free = [row for row in found.values() if row.scheduled_post_id is None]
        self._connection.execute(delete(media).where(media.c.id.in_([row.id for row in free])))
        return free

    def _one(self, *conditions: Any) -> MediaRow | None:
        row = self._connection.execute(_ALL.where(*conditions)).mappings().first()
        return MediaRow.of(row) if row else None
