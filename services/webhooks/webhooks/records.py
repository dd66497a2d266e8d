"""Rows of the service's tables, and what clients see of them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

from contracts import webhooks as api

#: Failures in a row that disable a subscription. Spec "Events", Delivery rules 3.
MAX_CONSECUTIVE_FAILURES = 20


@dataclass(frozen=True, slots=True)
class SubscriptionRow:
    """A subscription as it is stored, with the time of its last delivery and its count of failures in a row."""

    id: str
    account_id: str
    name: str
    url: str
    events: list[str]
    brand_ids: list[str]
    immediate_posts: bool
    made_within: list[str] | None
    status: str
    disabled_reason: str | None
    disabled_at: datetime | None
    created_at: datetime
    deleted_at: datetime | None
    consecutive_failures: int
    last_delivery_at: datetime | None

    def view(self) -> api.Subscription:
        last, since = self.last_delivery_at, self.disabled_at
        return api.Subscription.made_from(
            self,
            events=tuple(self.events),
            brand_ids=tuple(self.brand_ids),
            last_delivery_at=last.astimezone(UTC) if last else None,
            created_at=self.created_at.astimezone(UTC),
            disabled_at=since.astimezone(UTC) if since and self.status == "disabled" else None,
        )


@dataclass(frozen=True, slots=True)
class DeliveryRow:
    id: str
    event_id: str
    event: str
    state: str
    due_at: datetime
    created_at: datetime

    def view(self, attempts: Sequence[api.Attempt]) -> api.Delivery:
        return api.Delivery.made_from(
            self,
            status=self.state,
            attempts=tuple(attempts),
            next_attempt_at=self.due_at.astimezone(UTC) if self.state == "pending" else None,
            created_at=self.created_at.astimezone(UTC),
        )


class MadeBy(NamedTuple):
    """A subscription with the user and token that made it, for the event `webhooks.disabled`."""

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


class DueDelivery(NamedTuple):
    """A delivery whose next attempt was due when it was loaded, with all that the attempt needs."""

    subscription_id: str
    id: str
    event_id: str
    event: str
    #: Attempts made so far, and failures since it was written or replayed.
    attempts: int
    failures: int
    body: bytes
    account_id: str
    tier: str
    #: A replay changes it.
    due_at: datetime
    #: W3C's trace context of the event.
    traceparent: str | None = None
    #: Since its event arrived, and since it has been due.
    age_seconds: float = 0.0
    overdue_seconds: float = 0.0
    #: It has its unit of the month.
    is_charged: bool = False

    @property
    def cause(self) -> str:
        """The trace context of the delivery's event. `tracing.on_behalf` reads it to link one step for several
        deliveries to the traces of their events.
        """
        return self.traceparent or ""


class Endpoint(NamedTuple):
    """The state of one subscription and its endpoint queue, as the dispatcher reads it at each tick."""

    id: str
    is_due: bool
    #: Whether a process has its queue, this one or another.
    is_held: bool
    is_deleted: bool
    is_active: bool
    #: Whether it is disabled, and a delivery arrived after the waiting ones had been failed.
    has_late: bool
    url: str
    #: How often it was enabled.
    enabled_count: int
    #: Encrypted, newest first; empty for a queue that another process has.
    secrets: tuple[str, ...]


class Outcome(NamedTuple):
    """The outcome of one attempt at a delivery."""

    subscription_id: str
    delivery_id: str
    fence: int
    #: How often the subscription had been enabled when the attempt began.
    enabled_count: int
    number: int
    #: Of the delivery, as it was loaded.
    due_at: datetime
    #: Monotonic.
    began_at: float
    answered_at: float
    status_code: int | None
    error: str | None
    answer: str | None
    #: Until the next attempt, if this one failed; None: there is none.
    retry_wait: float | None
    #: Whether it failed for lack of a local resource, as far as one attempt can tell: other endpoints last succeeded at
    #: `others_at` (monotonic).
    is_local: bool = False
    others_at: float = -math.inf


class Recorded(NamedTuple):
    """The state of a delivery and its subscription after an outcome was recorded."""

    subscription_id: str
    #: Of the delivery; None when the outcome had been recorded before.
    state: str | None
    #: Consecutive failures of the subscription.
    failures: int
    #: Why it was disabled just now.
    disabled_reason: str | None
    #: Whether the subscription is active, after this.
    is_active: bool
