"""Rows as values, and the views of the contract made of them."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import Any, NamedTuple, Self

import msgspec

from contracts.ai import AiJob, JobParams
from contracts.caller import Caller
from contracts.media import Media

VIDEO, CAPTION = "video", "caption"


class Claim(NamedTuple):
    """The right to write about a job: void once its fence is higher."""

    id: str
    fence: int


@dataclass(frozen=True, slots=True)
class Job:
    """A row of `jobs`; what its columns mean is in models.py."""

    id: str
    operation_id: str
    account_id: str
    user_id: str
    tier: str
    token_brand_ids: tuple[str, ...] | None
    brand_id: str | None
    kind: str
    state: str
    prompt: str
    brief: str
    aspect_ratio: str | None
    model: str | None
    source_url: str | None
    source_media_id: str | None
    credits: int
    credits_charged: int
    created_at: datetime
    completed_at: datetime | None
    fence: int
    starts: int
    provider: str | None
    provider_operation: str | None
    upload_id: str | None
    upload_bytes: int | None
    media: Media | None
    caption: str | None
    error_code: str | None
    error: str | None
    traceparent: str | None

    @classmethod
    def of(cls, row: Mapping[Any, Any]) -> Self:
        values = {field.name: row[field.name] for field in fields(cls)}
        values["created_at"] = row["created_at"].astimezone(UTC)
        values["completed_at"] = row["completed_at"].astimezone(UTC) if row["completed_at"] else None
        values["token_brand_ids"] = None if row["token_brand_ids"] is None else tuple(row["token_brand_ids"])
        values["media"] = None if row["media"] is None else msgspec.convert(row["media"], Media)
        return cls(**values)

    @property
    def claim(self) -> Claim:
        return Claim(self.id, self.fence)

    @property
    def has_source(self) -> bool:
        return bool(self.source_url or self.source_media_id)

    def caller(self) -> Caller:
        """Who asked for it, for what is done behind his back."""
        return Caller(
            account_id=self.account_id,
            user_id=self.user_id,
            tier=self.tier,
            brand_ids=self.token_brand_ids,
            operation_id=self.operation_id,
        )

    def view(self) -> AiJob:
        is_video = self.kind == VIDEO
        return AiJob(
            job_id=self.id,
            kind=self.kind,
            status=self.state,
            prompt=self.prompt,
            url=self.media.url if self.media else None,
            media_id=self.media.media_id if self.media else None,
            media_type="video" if is_video else "photo",
            mime_type=self.media.mime_type if self.media else None,
            size_bytes=self.media.size_bytes if self.media else 0,
            credits_charged=self.credits_charged,
            params=JobParams(
                aspect_ratio=self.aspect_ratio,
                model=self.model,
                image_to_video=is_video and self.has_source,
            ),
            error=self.error,
            created_at=self.created_at,
            completed_at=self.completed_at,
        )
