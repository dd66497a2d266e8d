"""SQL of auto-refill: the owners' settings, and the refills (automatic purchases of credits).

Limits and due times use business time (`clock_now()`); claims and time-outs use real time (`clock_timestamp()`). Lock
the account's ledger before writing, except for a claim.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
from sqlalchemy import Connection, and_, func, insert, select, text, update
from sqlalchemy.dialects.postgresql import insert as upsert

from ai.models import auto_refills, refills
from ai.records import AutoRefillSettings, Refill
from chassis.telemetry import tracing

#: A claim holds for 30 s, longer than a call may take, then twice as long each time, up to 15 minutes. Unknown outcomes
#: are retried at that pace.
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
              = (refills.account_id, refills.credits, refills.customer, refills.payment_method)) AS still_wanted
    """
)


_COLUMNS = tuple(name for name in Refill.__struct_fields__ if name in refills.c)


class AutoRefills:
    """The owners' auto-refill settings, over an open transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def find(self, account_id: str) -> AutoRefillSettings | None:
        row = self._connection.execute(select(auto_refills).where(auto_refills.c.account_id == account_id))
        found = row.mappings().one_or_none()
        if found is None:
            return None
        return AutoRefillSettings(
            **{**found, "due_at": _utc(found["due_at"]), "saved_at": _utc(found["saved_at"])}
        )

    def save(self, saved: AutoRefillSettings) -> None:
        """Replaces the account's settings. If auto-refill is enabled, the worker loop checks the balance at its next
        tick.
        """
        values: dict[str, Any] = msgspec.structs.asdict(saved)
        values["due_at"] = func.clock_now() if saved.enabled else None
        values["saved_at"] = func.clock_now()
        values["traceparent"] = tracing.traceparent() or None
        self._connection.execute(
            upsert(auto_refills)
            .values(values)
            .on_conflict_do_update(index_elements=["account_id"], set_=values)
        )

    def mark_due(self, account_id: str, tier: str) -> None:
        """Marks the account, if auto-refill is enabled, so that the worker loop checks its balance. An account that is
        marked already is not changed.
        """
        here = (
            auto_refills.c.account_id == account_id,
            auto_refills.c.enabled,
            auto_refills.c.due_at.is_(None),
        )
        values = {"due_at": func.clock_now(), "tier": tier, "traceparent": tracing.traceparent() or None}
        self._connection.execute(update(auto_refills).where(*here).values(values))

    def set_due(self, account_id: str, at: datetime | None) -> None:
        """Sets when the worker loop checks the account's balance next. None: not before `mark_due` or `save` marks the
        account again.
        """
        here = auto_refills.c.account_id == account_id
        self._connection.execute(update(auto_refills).where(here).values(due_at=at))

    def due(self, limit: int) -> list[str]:
        """Returns the accounts whose balance must be checked now, the longest waiting first."""
        waiting = select(auto_refills.c.account_id).where(auto_refills.c.due_at <= func.clock_now())
        return list(self._connection.execute(waiting.order_by(auto_refills.c.due_at).limit(limit)).scalars())


class Refills:
    """The automatic purchases of credits, over an open transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def add(self, refill: Refill) -> None:
        values = {name: getattr(refill, name) for name in _COLUMNS}
        self._connection.execute(insert(refills).values(values))

    def claim(self) -> Refill | None:
        """Claims the open refill that has waited longest, for one call to the payment provider, and returns it; None if
        none waits.
        """
        row = self._connection.execute(_CLAIM).mappings().one_or_none()
        return Refill(**row) if row else None

    def mark_sent(self, refill_id: str) -> None:
        """Stores the present time as the time of sending. Call it just before the payment provider gets the order."""
        self._note(refill_id, sent_at=func.clock_now())

    def stop_sending(self, refill_id: str, why: str, unanswered: timedelta) -> None:
        """Stores that an open refill's payment must not be requested again: from now on it is only searched for.

        `why`: the reason. `unanswered`: how long ago the payment was last requested without an answer. That request may
        have taken effect, so its time is stored as the time of sending.
        """
        self._note(refill_id, error=why, sent_at=func.clock_now() - unanswered)

    def _note(self, refill_id: str, **values: Any) -> None:
        here = (refills.c.id == refill_id, refills.c.state == "open")
        self._connection.execute(update(refills).where(*here).values(values))

    def find(self, refill_id: str) -> Refill | None:
        return self._one(refills.c.id == refill_id)

    def newest(self, account_id: str) -> Refill | None:
        return self._one(refills.c.account_id == account_id)

    def since(self, saved: AutoRefillSettings, limit: int) -> list[Refill]:
        """Returns at most `limit` refills, newest first, that were made with the card in `saved` after these settings
        were saved.

        Leaves out refills with another card: in settings stored before 1.4.0, the card may have changed after
        `saved_at`.
        """
        here = and_(
            refills.c.account_id == saved.account_id,
            refills.c.customer == saved.customer,
            refills.c.payment_method == saved.payment_method,
        )
        saved_at = saved.saved_at
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
        """Returns when the refills of the last 24 hours were requested, failed ones included, oldest first."""
        since = func.clock_now() - timedelta(days=1)
        rows = select(refills.c.created_at).where(
            refills.c.account_id == account_id, refills.c.created_at > since
        )
        return [
            at.astimezone(UTC)
            for at in self._connection.execute(rows.order_by(refills.c.created_at)).scalars()
        ]

    def record(self, refill_id: str, state: str, payment_id: str | None, error: str | None) -> None:
        """Records the result of a refill. A paid refill stays paid, and a known payment id is kept."""
        known = func.coalesce(refills.c.payment_id, payment_id)
        values = {"state": state, "payment_id": known, "error": error}
        here = (refills.c.id == refill_id, refills.c.state != "paid")
        self._connection.execute(update(refills).where(*here).values(values))


def _utc(moment: datetime | None) -> datetime | None:
    return None if moment is None else moment.astimezone(UTC)
