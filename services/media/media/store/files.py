"""SQL of files (table `media`)."""

from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta

from msgspec.structs import asdict
from sqlalchemy import ColumnElement, and_, delete, func, select, text, tuple_, update
from sqlalchemy.dialects.postgresql import insert

from chassis.db.clock import clock_now
from chassis.db.ranges import distinct_values
from chassis.ids import is_id
from contracts.caller import Caller
from contracts.media import owns_copies
from contracts.renditions import FileFacts
from media.models import MediaRow, Upload, attachments, deletions, media
from media.store import REAL_NOW, Store, next_rows
from media.store.attachments import IS_COUNTED

#: Posts of a file that are named, our choice: as many as a person looks through one by one.
_POSTS_NAMED = 10
_HAS_IT = and_(attachments.c.media_id == media.c.id, IS_COUNTED)
_FIRST = (attachments.c.created_at, attachments.c.post_id)
_POST_IDS = (
    select(attachments.c.post_id).where(_HAS_IT).order_by(*_FIRST).limit(_POSTS_NAMED).scalar_subquery()
)
_POST_COUNT = select(func.count()).select_from(attachments).where(_HAS_IT).scalar_subquery()
_ALL = select(
    media, func.array(_POST_IDS).label("scheduled_post_ids"), _POST_COUNT.label("scheduled_post_count")
)
_place = tuple_(media.c.created_at, media.c.id)
_NEWEST_FIRST = media.c.created_at.desc(), media.c.id.desc()

#: A place in the list of files: time and id of a file.
Place = tuple[datetime, str]

_RESTRICTED = "account_id = :account_id AND brand_ids <> '{}'"
#: Ids, newest first, under each brand restriction within the caller's reach: an account has few, and many files.
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
    """Returns SQL conditions for a list of files: `kind` (photo or video); `unused`, files that were never published
    and have no pending post; `search`, a part of the name.
    """
    found = []
    if kind is not None:
        found.append(media.c.mime_type.startswith("image/" if kind == "photo" else "video/"))
    if unused:
        found += [media.c.published_at.is_(None), ~select(attachments).where(_HAS_IT).exists()]
    if search is not None:
        found.append(media.c.filename.icontains(search, autoescape=True))
    return found


class Files(Store):
    def add(self, media_id: str, upload: Upload, facts: FileFacts) -> bool:
        """Turns an upload into a file. Returns False if this upload or its AI generation has a file already."""
        copied = ("account_id", "brand_ids", "operation_id", "generated", "key", "filename", "slug")
        values = {name: value for name, value in asdict(facts).items() if name != "type"}
        values |= {name: getattr(upload, name) for name in copied}
        values["thumbnail_size_bytes"] = 0 if owns_copies(upload.account_id) else None  # nobody would see it
        added = insert(media).values(id=media_id, upload_id=upload.id, created_at=clock_now(), **values)
        return self._count(added.on_conflict_do_nothing()) == 1

    def get(self, media_id: str) -> MediaRow | None:
        return self._first(_ALL.where(media.c.id == media_id), MediaRow) if is_id(media_id) else None

    def by_upload(self, upload_id: str) -> MediaRow | None:
        return self._first(_ALL.where(media.c.upload_id == upload_id), MediaRow) if is_id(upload_id) else None

    def by_operation(self, account_id: str, operation_id: str | None) -> MediaRow | None:
        """Returns the generated file of this operation."""
        is_made_by = and_(media.c.account_id == account_id, media.c.operation_id == operation_id)
        return self._first(_ALL.where(is_made_by, media.c.generated), MediaRow)

    def by_key(self, key: str) -> MediaRow | None:
        return self._first(_ALL.where(media.c.key == key), MediaRow)

    def many(self, media_ids: Collection[str], *, lock: bool = False) -> dict[str, MediaRow]:
        """Returns files by id. With `lock` nobody else can change or delete them until the transaction ends."""
        is_wanted = media.c.id.in_([media_id for media_id in media_ids if is_id(media_id)])
        if lock:
            self._count(select(media.c.id).where(is_wanted).order_by(media.c.id).with_for_update())
        return {row.id: row for row in self._all(_ALL.where(is_wanted), MediaRow)}

    def newest(
        self, caller: Caller, after: Place | None, limit: int, narrowed: Sequence[ColumnElement[bool]] = ()
    ) -> tuple[list[MediaRow], Place | None]:
        """Returns one page of the files that the caller may see, newest first, and the place after which the next
        begins; None at the end. With conditions in `narrowed` only the next _READ files are searched, so that a page
        may be short.
        """
        within = self._within(caller, after, _READ if narrowed else limit + 1)
        files, end = _ALL.where(*within, *narrowed), None
        if narrowed:
            places = select(media.c.created_at, media.c.id).where(*within).order_by(*_NEWEST_FIRST)
            last = self._connection.execute(places.offset(_READ - 1).limit(1)).first()
            if last is not None:
                end = (last[0], last[1])
                files = files.where(_place >= end)
        found = self._all(files.order_by(*_NEWEST_FIRST).limit(limit + 1), MediaRow)
        if len(found) > limit:
            end = (found[limit - 1].created_at, found[limit - 1].id)
        return found[:limit], end

    def _within(self, caller: Caller, after: Place | None, most: int) -> list[ColumnElement[bool]]:
        """Returns SQL conditions for the files after `after` that the caller may see. For a token that is limited to
        brands they are only the first `most` files.
        """
        found = [] if after is None else [_place < after]
        if caller.brand_ids is None:
            return [media.c.account_id == caller.account_id, *found]
        at, before_id = after or (_LAST, "")
        reach = {"account_id": caller.account_id, "reach": list(caller.brand_ids)}
        values = {**reach, "before_at": at, "before_id": before_id, "limit": most}
        return [media.c.id.in_(self._connection.execute(_NEWEST_WITHIN, values).scalars().all()), *found]

    def remove(self, media_id: str) -> None:
        self._count(delete(media).where(media.c.id == media_id))

    def note_deleted(self, account_id: str, media_id: str, operation_id: str) -> None:
        values = {"account_id": account_id, "media_id": media_id, "operation_id": operation_id}
        self._count(insert(deletions).values(deleted_at=clock_now(), **values).on_conflict_do_nothing())

    def deleted_by_operation(self, account_id: str, operation_id: str | None) -> str | None:
        """Returns the id of the file that this operation deleted."""
        own = (deletions.c.account_id == account_id, deletions.c.operation_id == (operation_id or ""))
        return self._connection.execute(select(deletions.c.media_id).where(*own)).scalar()

    def forget_deleted(self, older_than: timedelta, limit: int) -> int:
        old = select(deletions.c.operation_id).where(deletions.c.deleted_at < clock_now() - older_than)
        return self._count(delete(deletions).where(deletions.c.operation_id.in_(old.limit(limit))))

    def claim_without_thumbnail(self, lease: timedelta) -> MediaRow | None:
        """Claims, of the files whose thumbnail is due, the one for which it became due last."""
        is_due = and_(media.c.thumbnail_size_bytes.is_(None), media.c.thumbnail_due_at <= REAL_NOW)
        due = next_rows(media.c.id, is_due, first=media.c.thumbnail_due_at.desc(), limit=1)
        claim = update(media).where(media.c.id.in_(due)).values(thumbnail_due_at=REAL_NOW + lease)
        media_id = self._connection.execute(claim.returning(media.c.id)).scalar()
        return media_id and self.get(media_id)

    def put_off_thumbnail(self, media_id: str, wait: timedelta) -> None:
        self._count(update(media).where(media.c.id == media_id).values(thumbnail_due_at=REAL_NOW + wait))

    def set_thumbnail(self, media_id: str, size_bytes: int) -> bool:
        """Stores the size of the file's thumbnail, or 0 if none can be made. Returns False if the file is gone."""
        statement = update(media).where(media.c.id == media_id).values(thumbnail_size_bytes=size_bytes)
        return self._count(statement) == 1

    def mark(self, media_ids: Collection[str], time: str) -> None:
        """Sets the time `attached_at` or `published_at` of files that do not have it yet."""
        is_new = and_(media.c.id.in_(media_ids), media.c[time].is_(None))
        self._count(update(media).where(is_new).values({time: clock_now()}))

    def take_unused(self, older_than: timedelta, limit: int) -> list[MediaRow]:
        """Deletes and returns generated files that no post has ever used (spec "AI generation")."""
        is_free = ~select(attachments).where(attachments.c.media_id == media.c.id).exists()
        is_old = and_(media.c.generated, media.c.created_at < clock_now() - older_than)
        is_unused = and_(is_old, media.c.attached_at.is_(None), is_free)
        unused = next_rows(media.c.id, is_unused, first=media.c.created_at, limit=limit)
        found = self.many(self._connection.execute(unused).scalars().all())
        # Locked after they were chosen: an attachment made in between is visible now.
        free = [row for row in found.values() if row.scheduled_post_id is None]
        self._count(delete(media).where(media.c.id.in_([row.id for row in free])))
        return free
