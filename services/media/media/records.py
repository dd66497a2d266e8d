"""Rows of the database as dataclasses, and the records of the contract that are made of them."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Self

from contracts.media import Storage
from contracts.renditions import FileFacts, Need
from media import names


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table. Its fields have the names of the columns."""

    @classmethod
    def of(cls, row: Mapping[Any, Any]) -> Self:
        return cls(**{field.name: row[field.name] for field in fields(cls)})


@dataclass(frozen=True, slots=True)
class Stored(Row):
    """The columns that uploads and finished files share: an object in the storage and its owner."""

    id: str
    account_id: str
    brand_ids: list[str]
    operation_id: str | None
    generated: bool
    key: str
    filename: str
    slug: str
    mime_type: str
    size_bytes: int
    created_at: datetime

    @property
    def object_name(self) -> str:
        return f"{self.key}/{self.slug}"

    @property
    def kind(self) -> str:
        return names.kind(self.mime_type)


@dataclass(frozen=True, slots=True)
class Upload(Stored):
    parts_id: str | None
    part_size_bytes: int | None
    expires_at: datetime
    lease_until: datetime | None
    replaced_bytes: int | None

    def arrived(self, size_bytes: int | None, announced_bytes: int) -> bool:
        """Whether the stored object has the announced size, or the size of the file that an earlier inspection put in
        its place."""
        if size_bytes is None:
            return False
        return size_bytes == self.replaced_bytes or size_bytes == announced_bytes <= self.size_bytes


@dataclass(frozen=True, slots=True)
class MediaRow(Stored):
    width: int | None
    height: int | None
    duration_seconds: float | None
    frame_rate: float | None
    video_codec: str | None
    audio_codec: str | None
    jpeg_size_bytes: int | None
    thumbnail_size_bytes: int | None
    published_at: datetime | None
    #: The first pending posts that have it, at most as many as `store.files` reads.
    scheduled_post_ids: list[str]
    scheduled_post_count: int

    @property
    def scheduled_post_id(self) -> str | None:
        return self.scheduled_post_ids[0] if self.scheduled_post_ids else None

    @property
    def facts(self) -> FileFacts:
        """The properties of the file that decide which rendition a platform needs."""
        return FileFacts.made_from(self, type=self.kind)

    def object_of(self, slug: str) -> str:
        """Returns the name of another object under the file's key, such as a rendition or thumbnail."""
        return f"{self.key}/{slug}"


@dataclass(frozen=True, slots=True)
class Rendition(Row):
    """A row of the table of renditions: a file that was or will be made so that it fits a `need`."""

    id: str
    media_id: str
    need: Need
    state: str
    slug: str
    size_bytes: int | None
    width: int | None
    height: int | None
    duration_seconds: float | None
    failure: str | None
    tries: int


@dataclass(frozen=True, slots=True)
class Removal(Row):
    """A row of the table `removals`: a key whose objects must still be deleted from the storage."""

    key: str
    slug: str
    parts_id: str | None
    attempts: int


def storage(used_bytes: int, limit_bytes: int) -> Storage:
    return Storage(
        used_bytes=used_bytes, limit_bytes=limit_bytes, remaining_bytes=max(limit_bytes - used_bytes, 0)
    )
