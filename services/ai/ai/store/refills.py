"""Auto-refill's statements: what owners wish, and the payments asked for.

Limits and what is due run on the one clock (`clock_now()`), claims and time-outs in real time (`clock_timestamp()`).
Writers hold the customer's ledger (`store/ledger.py`), except for a claim, which touches its own row alone.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
from sqlalchemy import Connection, and_, func, insert, select, text, update
from sqlalchemy.dialects.postgresql import insert as upsert

from ai.models import auto_refills, refills
from chassis.telemetry import tracing
from contracts.record import Record

#: A claim holds for 30 s, longer than a call may take, then twice as long each time up to a quarter of an hour. An
#: outcome that is not known is asked for again at that pace. Our choice.
_CLAIM = text(
    """
    UPDATE refills SET asked_count = asked_count + 1,
        look_at = clock_timestamp() + make_interval(secs => least(30 * 2 ^ least(asked_count, 10), 900))
    WHERE id = (SELECT id FROM refills WHERE state = 'open' AND look_at <= clock_timestamp()
                ORDER BY look_at LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING id, account_id, credits, price_cents, customer, payment_method, state, payment_id, error,
        traceparent, greatest(clock_timestamp() - began_at, clock_now() - created_at) AS age,
        clock_now() - coalesce(sent_at, created_at) AS unanswered,
        EXISTS (SELECT FROM auto_refills w WHERE w.enabled
            AND (w.account_id, w.credits, w.customer, w.payment_method)
              = (refills.account_id, refills.credits, refills.customer, refills.payment_method)) AS wished
    """
)


class Wish(Record):
    """How an owner wants to be refilled."""

    account_id: str
    tier: str
    enabled: bool
    threshold: int
    credits: int
    #: The payer and how he pays, as the payment provider names them.
    customer: str | None = None
    payment_method: str | None = None
    due_at: datetime | None = None
    saved_at: datetime | None = None
    traceparent: str | None = None


class Refill(Record):
    """One payment asked for."""

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
    #: Since it was written, by the clock that went further; only a claim tells.
    age: timedelta = timedelta(0)
    #: Since it was last sent; only a claim tells.
    unanswered: timedelta = timedelta(0)
    #: The owner wishes it as it was written: so many credits, paid so; only a claim tells.
    wished: bool = True


_COLUMNS = tuple(name for name in Refill.__struct_fields__ if name in refills.c)


class AutoRefills:
    """What owners wish, over an open transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def find(self, account_id: str) -> Wish | None:
        row = self._connection.execute(select(auto_refills).where(auto_refills.c.account_id == account_id))
        found = row.mappings().one_or_none()
        if found is None:
            return None
        return Wish(**{**found, "due_at": _utc(found["due_at"]), "saved_at": _utc(found["saved_at"])})

    def save(self, wish: Wish) -> None:
        """Puts the wish in the place of an earlier one; when it is enabled, the balance is looked at now."""
        values: dict[str, Any] = msgspec.structs.asdict(wish)
        values["due_at"] = func.clock_now() if wish.enabled else None
        values["saved_at"] = func.clock_now()
        values["traceparent"] = tracing.traceparent() or None
        self._connection.execute(
            upsert(auto_refills)
            .values(values)
            .on_conflict_do_update(index_elements=["account_id"], set_=values)
        )

    def mark_due(self, account_id: str, tier: str) -> None:
        """The balance is to be looked at."""
        here = (
            auto_refills.c.account_id == account_id,
            auto_refills.c.enabled,
            auto_refills.c.due_at.is_(None),
        )
        values = {"due_at": func.clock_now(), "tier": tier, "traceparent": tracing.traceparent() or None}
        self._connection.execute(update(auto_refills).where(*here).values(values))

    def look_again(self, account_id: str, at: datetime | None) -> None:
        """When the balance is to be looked at next; None: after the next call that spends credits."""
        here = auto_refills.c.account_id == account_id
        self._connection.execute(update(auto_refills).where(here).values(due_at=at))

    def due(self, limit: int) -> list[str]:
        """Accounts to be looked at now, the longest waiting first."""
        waiting = select(auto_refills.c.account_id).where(auto_refills.c.due_at <= func.clock_now())
        return list(self._connection.execute(waiting.order_by(auto_refills.c.due_at).limit(limit)).scalars())


class Refills:
    """Payments asked for, over an open transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def add(self, refill: Refill) -> None:
        values = {name: getattr(refill, name) for name in _COLUMNS}
        self._connection.execute(insert(refills).values(values))

    def claim(self) -> Refill | None:
        """The open refill that waits longest, ours for the time of one call."""
        row = self._connection.execute(_CLAIM).mappings().one_or_none()
        return Refill(**row) if row else None

    def sending(self, refill_id: str) -> None:
        """It is about to be sent."""
        self._note(refill_id, sent_at=func.clock_now())

    def send_no_more(self, refill_id: str, why: str, unanswered: timedelta) -> None:
        """It is still open, and only to be looked for; the last time it was sent that did anything is so long ago."""
        self._note(refill_id, error=why, sent_at=func.clock_now() - unanswered)

    def _note(self, refill_id: str, **values: Any) -> None:
        here = (refills.c.id == refill_id, refills.c.state == "open")
        self._connection.execute(update(refills).where(*here).values(values))

    def find(self, refill_id: str) -> Refill | None:
        return self._one(refills.c.id == refill_id)

    def newest(self, account_id: str) -> Refill | None:
        return self._one(refills.c.account_id == account_id)

    def since(self, wish: Wish, limit: int) -> list[Refill]:
        """Those written since it was saved and paid as it says, newest first. An older release may have changed the
        card and left `saved_at`.
        """
        here = and_(
            refills.c.account_id == wish.account_id,
            refills.c.customer == wish.customer,
            refills.c.payment_method == wish.payment_method,
        )
        saved_at = wish.saved_at
        return self._newest(here if saved_at is None else and_(here, refills.c.created_at >= saved_at), limit)

    def _one(self, condition: Any) -> Refill | None:
        return next(iter(self._newest(condition, 1)), None)

    def _newest(self, condition: Any, limit: int) -> list[Refill]:
        rows = (
            select(*(refills.c[name] for name in _COLUMNS))
            .where(condition)
            .order_by(refills.c.created_at.desc(), refills.c.id.desc())
        )
        return [Refill(**row) for row in self._connection.execute(rows.limit(limit)).mappings()]

    def times(self, account_id: str) -> Sequence[datetime]:
        """When refills of the last 24 hours were asked for, oldest first; those that failed count."""
        since = func.clock_now() - timedelta(days=1)
        rows = select(refills.c.created_at).where(
            refills.c.account_id == account_id, refills.c.created_at > since
        )
        return [
            at.astimezone(UTC)
            for at in self._connection.execute(rows.order_by(refills.c.created_at)).scalars()
        ]

    def record(self, refill_id: str, state: str, payment_id: str | None, error: str | None) -> None:
        """What became of it. What is paid stays paid; a payment id once known is kept."""
        known = func.coalesce(refills.c.payment_id, payment_id)
        values = {"state": state, "payment_id": known, "error": error}
        here = (refills.c.id == refill_id, refills.c.state != "paid")
        self._connection.execute(update(refills).where(*here).values(values))


def _utc(moment: datetime | None) -> datetime | None:
    return None if moment is None else moment.astimezone(UTC)
