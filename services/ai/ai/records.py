"""Rows of the service's tables as values, and the records that clients see."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple, Self

import msgspec

from contracts.ai import AiJob, JobParams
from contracts.caller import Caller
from contracts.media import Media
from contracts.record import Record

VIDEO, CAPTION = "video", "caption"


class Claim(NamedTuple):
    """The right of a worker to write to the job `id`. It ends when the job's `fence` grows beyond this one, because
    another worker has claimed the job.
    """

    id: str
    fence: int


@dataclass(frozen=True, slots=True)
class Job:
    """A job that makes an image, a video or a caption: a row of `jobs` (models.py explains the columns)."""

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

    @property
    def provider_aspect_ratio(self) -> str | None:
        """The aspect ratio that the provider is asked for; None leaves it to the provider."""
        return None if self.aspect_ratio == "default" else self.aspect_ratio

    def caller(self) -> Caller:
        """Returns the caller who asked for the job, for calls to other services in the background."""
        return Caller(
            account_id=self.account_id,
            user_id=self.user_id,
            tier=self.tier,
            brand_ids=self.token_brand_ids,
            operation_id=self.operation_id,
        )

    def view(self) -> AiJob:
        is_video = self.kind == VIDEO
        return AiJob.made_from(
            self,
            job_id=self.id,
            status=self.state,
            url=self.media.url if self.media else None,
            media_id=self.media.media_id if self.media else None,
            media_type="video" if is_video else "photo",
            mime_type=self.media.mime_type if self.media else None,
            size_bytes=self.media.size_bytes if self.media else 0,
            params=JobParams(
                aspect_ratio=self.aspect_ratio,
                model=self.model,
                image_to_video=is_video and self.has_source,
            ),
        )


class AutoRefillSettings(Record):
    """An owner's auto-refill settings: a row of the table `auto_refills`."""

    account_id: str
    tier: str
    enabled: bool
    threshold: int
    credits: int
    #: The payer and the payment method, by the payment provider's ids.
    customer: str | None = None
    payment_method: str | None = None
    due_at: datetime | None = None
    saved_at: datetime | None = None
    traceparent: str | None = None


class Refill(Record):
    """One automatic purchase of credits: a row of the table `refills`. It is stored before its payment is requested."""

    id: str
    account_id: str
    credits: int
    price_cents: int
    customer: str
    payment_method: str
    #: open, paid or failed
    state: str = "open"
    payment_id: str | None = None
    error: str | None = None
    traceparent: str | None = None
    #: The time since the refill was written, by whichever clock advanced further (business or real time). Set only by
    #: `Refills.claim`.
    age: timedelta = timedelta(0)
    #: The time since the order was last sent. Set only by `Refills.claim`.
    unanswered: timedelta = timedelta(0)
    #: Whether the owner's settings still ask for these credits with this card. Set by `Refills.claim` alone.
    still_wanted: bool = True
