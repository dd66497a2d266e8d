"""Rows of the database as the code has them, and their views for clients."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

from contracts import webhooks as api
from webhooks.dispatch.rules import Standing, Verdict


@dataclass(frozen=True, slots=True)
class SubscriptionRow:
    """A subscription with what its lane knows."""

    id: str
    account_id: str
    name: str
    url: str
    events: list[str]
    brand_ids: list[str]
    made_within: list[str] | None
    status: str
    disabled_reason: str | None
    created_at: datetime
    deleted_at: datetime | None
    consecutive_failures: int
    last_delivery_at: datetime | None

    def fields(self) -> dict[str, Any]:
        """Of the view."""
        last = self.last_delivery_at
        return {
            "id": self.id,
            "name": self.name,
            "url": self.url,
            "events": tuple(self.events),
            "brand_ids": tuple(self.brand_ids),
            "status": self.status,
            "disabled_reason": self.disabled_reason,
            "consecutive_failures": self.consecutive_failures,
            "last_delivery_at": last.astimezone(UTC) if last else None,
            "created_at": self.created_at.astimezone(UTC),
        }

    def view(self) -> api.Subscription:
        return api.Subscription(**self.fields())


@dataclass(frozen=True, slots=True)
class DeliveryRow:
    id: str
    event_id: str
    event: str
    state: str
    due_at: datetime
    created_at: datetime

    def view(self, attempts: Sequence[api.Attempt]) -> api.Delivery:
        return api.Delivery(
            id=self.id,
            event_id=self.event_id,
            event=self.event,
            status=self.state,
            attempts=tuple(attempts),
            next_attempt_at=self.due_at.astimezone(UTC) if self.state == "pending" else None,
            created_at=self.created_at.astimezone(UTC),
        )


class MadeBy(NamedTuple):
    """A subscription and its maker."""

    id: str
    name: str
    made_within: list[str] | None
    maker_user_id: str | None
    maker_token_id: str | None


class SecretRow(NamedTuple):
    id: str
    #: Encrypted.
    secret: str
    expires_at: datetime | None


class Due(NamedTuple):
    """A delivery that is to be tried now."""

    subscription_id: str
    id: str
    event_id: str
    event: str
    #: Attempts made so far, and the place in the schedule.
    attempts: int
    failures: int
    body: bytes
    account_id: str
    tier: str
    #: Another one in the database says that it was replayed since it was taken up.
    due_at: datetime
    #: W3C's, of what told us of the event.
    traceparent: str | None = None
    #: When it was taken up: since its event arrived, and since it has been due.
    age_seconds: float = 0.0
    overdue_seconds: float = 0.0
    #: Noted when it was taken up before, and not tried.
    is_charged: bool = False

    @property
    def cause(self) -> str:
        """For what is done once for several."""
        return self.traceparent or ""

    @property
    def is_counted(self) -> bool:
        """Whether it has yet to take its unit of the month: once, and tests not at all."""
        return self.attempts == 0 and not self.is_charged and self.event != api.TEST_EVENT


class Opened(NamedTuple):
    """What the sending side knows of a subscription, as of one version of it."""

    id: str
    url: str
    #: Encrypted, newest first.
    secrets: list[str]
    standing: Standing
    version: tuple[int, int]
    #: How often it was enabled.
    enabled_count: int


class Tried(NamedTuple):
    """One attempt, as it is written down."""

    subscription_id: str
    delivery_id: str
    fence: int
    number: int
    #: Of the delivery, as it was taken up.
    due_at: datetime
    #: When it began (monotonic): its time of day follows from how long ago that is.
    began: float
    duration_ms: int
    status_code: int | None
    error: str | None
    answer: str | None
    #: It failed for want of something of ours, as far as one attempt can tell: others got theirs last at `others_at`
    #: (monotonic).
    is_ours: bool = False
    others_at: float = -math.inf


class Entry(NamedTuple):
    """An attempt and what it leads to."""

    tried: Tried
    verdict: Verdict
    #: Its place among the answers that the lane's holder has judged.
    outcome_number: int
    #: How often the subscription had been enabled, as far as its holder knew.
    enabled_count: int
