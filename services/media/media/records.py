"""Rows as records, and the views of them that the contract has."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Self

from contracts.media import Storage
from media import names


@dataclass(frozen=True, slots=True)
class Row:
    """Fields are named as their columns."""

    @classmethod
    def of(cls, row: Mapping[Any, Any]) -> Self:
        return cls(**{field.name: row[field.name] for field in fields(cls)})


@dataclass(frozen=True, slots=True)
class Stored(Row):
    """What uploads and media have in common: an object of somebody's."""

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

    def arrived(self, size_bytes: int | None, said_bytes: int) -> bool:
        """Whether what lies in the storage is what was announced, or what a look before this one made of it."""
        if size_bytes is None:
            return False
        return size_bytes == self.replaced_bytes or size_bytes == said_bytes <= self.size_bytes


@dataclass(frozen=True, slots=True)
class MediaRow(Stored):
    width: int | None
    height: int | None
    duration_seconds: float | None
    jpeg_size_bytes: int | None
    published_at: datetime | None
    #: The first post that has it and is not out yet.
    scheduled_post_id: str | None

    @property
    def jpeg_name(self) -> str:
        return f"{self.key}/{names.jpeg_slug(self.slug)}"

    @property
    def seen(self) -> "Seen":
        return Seen(self.size_bytes, self.width, self.height, self.duration_seconds)


@dataclass(frozen=True, slots=True)
class Seen:
    """What a look at the bytes told."""

    size_bytes: int
    width: int | None
    height: int | None
    duration_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Removal(Row):
    """What is to go from the storage."""

    key: str
    slug: str
    parts_id: str | None
    attempts: int


def storage(used_bytes: int, limit_bytes: int) -> Storage:
    return Storage(
        used_bytes=used_bytes, limit_bytes=limit_bytes, remaining_bytes=max(limit_bytes - used_bytes, 0)
    )
