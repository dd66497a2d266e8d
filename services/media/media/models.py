"""The service's tables, with a class for the rows that are read whole. Keys and indexes are in the migrations."""

from datetime import datetime
from typing import Any, get_type_hints

from sqlalchemy import BigInteger, Boolean, DateTime, Double, TableClause, Text, column, table
from sqlalchemy.dialects.postgresql import ARRAY, JSONB
from sqlalchemy.types import TypeEngine

from contracts.record import Record
from contracts.renditions import FileFacts, Need
from media import names

_TYPES_OF_VALUES: dict[Any, TypeEngine[Any]] = {
    str: Text(),
    int: BigInteger(),
    float: Double(),
    bool: Boolean(),
    datetime: DateTime(timezone=True),
    list[str]: ARRAY(Text),
    Need: JSONB(),
}
_TYPES = _TYPES_OF_VALUES | {of | None: type_ for of, type_ in _TYPES_OF_VALUES.items()}


class Stored(Record):
    """The columns that uploads and finished files share: an object in the storage and its owner."""

    id: str
    account_id: str
    #: The brands of the token that made it; empty: an unrestricted token.
    brand_ids: list[str]
    #: Of generated files and multipart uploads. Uploads through the gateway are not idempotent.
    operation_id: str | None
    generated: bool
    #: The object is `key/slug`.
    key: str
    filename: str
    slug: str
    mime_type: str
    size_bytes: int
    created_at: datetime

    @property
    def kind(self) -> str:
        return names.kind(self.mime_type)

    @property
    def object_name(self) -> str:
        return self.object_of(self.slug)

    def object_of(self, slug: str) -> str:
        """Returns the name of another object under the file's key: a rendition or thumbnail."""
        return f"{self.key}/{slug}"


class Upload(Stored):
    """Storage that is reserved while bytes arrive. The row ends as a row of `media` or of `removals`."""

    #: The storage's id of a multipart upload.
    parts_id: str | None
    part_size_bytes: int | None
    expires_at: datetime
    #: Real time: until then a call is inspecting the bytes.
    lease_until: datetime | None
    #: The size of the file that an inspection is about to put in the uploaded one's place.
    replaced_bytes: int | None

    def arrived(self, size_bytes: int | None, announced_bytes: int) -> bool:
        """Whether the whole file is stored: with the announced size, or with that of the file which replaced it."""
        is_announced = size_bytes == announced_bytes <= self.size_bytes
        return size_bytes is not None and (size_bytes == self.replaced_bytes or is_announced)


class Media(Stored):
    """A file that was uploaded or generated."""

    upload_id: str
    #: As displayed.
    width: int | None
    height: int | None
    duration_seconds: float | None
    frame_rate: float | None
    #: ffmpeg's names of them; null: a photo, or stored before 1.4.0.
    video_codec: str | None
    audio_codec: str | None
    #: Of the thumbnail; null: there is none yet, 0: there will be none. It does not count against the quota.
    thumbnail_size_bytes: int | None
    #: Real time: when the thumbnail is made, or tried again.
    thumbnail_due_at: datetime
    #: When it was first attached to a stored post.
    attached_at: datetime | None
    #: When it was first published. From then on it counts against the quota only while a pending post has it.
    published_at: datetime | None

    @property
    def facts(self) -> FileFacts:
        """The properties of the file that decide which rendition a platform needs."""
        return FileFacts.made_from(self, type=self.kind)


class Rendition(Record):
    """A file made of an uploaded one to fit a platform (`contracts.renditions`). It does not count as storage."""

    id: str
    media_id: str
    need_key: str
    need: Need
    #: photo or video: of the media.
    kind: str
    #: pending, made, failed, or unneeded: its object is about to be removed.
    state: str
    #: The object is `key/slug`, with the media's key.
    slug: str
    size_bytes: int | None
    width: int | None
    height: int | None
    duration_seconds: float | None
    #: Of a failed one: why, for people.
    failure: str | None
    #: When a post last asked for it.
    asked_at: datetime
    #: The share of a video that is made, from 0 to 1; null at the beginning.
    progress: float | None
    #: How often it was claimed.
    tries: int
    #: Real time: until then a process makes it, or nobody tries again.
    lease_until: datetime | None


class Removal(Record):
    """A key whose objects and multipart upload must be deleted from the storage."""

    key: str
    slug: str
    parts_id: str | None
    attempts: int
    #: Real time.
    due_at: datetime


class MediaRow(Media):
    """A file with the pending posts that use it."""

    #: The first pending posts that have it, at most as many as `store.files` reads.
    scheduled_post_ids: list[str]
    scheduled_post_count: int

    @property
    def scheduled_post_id(self) -> str | None:
        return self.scheduled_post_ids[0] if self.scheduled_post_ids else None


def _table(name: str, /, **columns: Any) -> TableClause:
    return table(name, *(column(it, _TYPES[of]) for it, of in columns.items()))


uploads = _table("uploads", **get_type_hints(Upload))
media = _table("media", **get_type_hints(Media))
renditions = _table("renditions", **get_type_hints(Rendition))
removals = _table("removals", **get_type_hints(Removal))
_OF_POST = {"media_id": str, "post_id": str, "account_id": str, "revision": int, "created_at": datetime}
#: Files attached to posts: provisional until the event `post.media` confirms them. `operation_id`: the one that first
#: attached the file; null: the event did. `revision`: that of the post that holds the file; 0: stored before 1.4.0.
attachments = _table("attachments", **_OF_POST, confirmed=bool, operation_id=str | None)
#: The newest revision of each post's files, as an event `post.media` has reported it. `told_at`: real time.
posts = _table("posts", id=str, revision=int, told_at=datetime)
#: The file that a client's operation deleted, so that a repeated call gets the same answer.
deletions = _table("deletions", operation_id=str, account_id=str, media_id=str, deleted_at=datetime)
#: When a task that one replica at a time runs periodically is due, and where it continues; null: at the beginning.
chores = _table("chores", name=str, due_at=datetime, position=str | None)
