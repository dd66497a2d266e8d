"""SQL of payments: what each payment bought, and how much of it was refunded and disputed.

Lock the payment's row first, then its account's ledger.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from sqlalchemy import Connection, delete, func, literal, select, tuple_, update
from sqlalchemy.dialects.postgresql import insert as upsert

from ai.models import disputes, payments, refills
from contracts.record import Record


class Payment(Record):
    """A payment for credits, with its refunds: a row of the table `payments` (models.py explains the columns)."""

    payment_id: str
    account_id: str | None
    credits: int | None
    amount: int | None
    currency: str | None
    refunded: int
    clawed_back: int
    entries_count: int


class Dispute(Record):
    """A dispute of a payment: amount in the currency's smallest unit, status in Stripe's words."""

    amount: int
    currency: str
    status: str


_COLUMNS = tuple(payments.c[name] for name in Payment.__struct_fields__)


class Payments:
    """Reads and writes payments over an open transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def lock(self, payment_id: str) -> None:
        """Locks the payment until the transaction ends, adding a row for it if it is unknown."""
        row = upsert(payments).values(payment_id=payment_id)
        same = {"payment_id": row.excluded.payment_id}
        self._connection.execute(row.on_conflict_do_update(index_elements=["payment_id"], set_=same))

    def find(self, payment_id: str) -> Payment:
        """Returns the payment, whose row the caller must have locked. If it paid for an auto-refill, first stores in
        the row which credits it bought.
        """
        self._adopt_refill(payment_id)
        rows = self._connection.execute(select(*_COLUMNS).where(payments.c.payment_id == payment_id))
        return Payment(**rows.mappings().one())

    def _adopt_refill(self, payment_id: str) -> None:
        here = (payments.c.payment_id == payment_id, payments.c.account_id.is_(None))
        refill = (refills.c.payment_id == payments.c.payment_id, refills.c.state == "paid")
        values = {
            "account_id": refills.c.account_id,
            "credits": refills.c.credits,
            "amount": func.coalesce(payments.c.amount, refills.c.price_cents),
            "currency": func.coalesce(payments.c.currency, "usd"),
        }
        self._connection.execute(update(payments).where(*here, *refill).values(values))

    def note_purchase(
        self,
        payment_id: str,
        account_id: str,
        credits: int,  # noqa: A002
        amount: int,
        currency: str,
    ) -> None:
        """Stores which account the payment is from and how many credits it bought, unless that is stored already.

        If Stripe has told the payment's amount already, that amount stays, because refunds are compared with it.
        """
        values = {
            "account_id": account_id,
            "credits": credits,
            "amount": func.coalesce(payments.c.amount, amount),
            "currency": func.coalesce(payments.c.currency, currency),
        }
        here = (payments.c.payment_id == payment_id, payments.c.account_id.is_(None))
        self._connection.execute(update(payments).where(*here).values(values))

    def note_refund(self, payment_id: str, told_at: int, amount: int, refunded: int, currency: str) -> None:
        """Stores how much of the payment is refunded, unless a newer event is known. `told_at`: Stripe's time in
        seconds. `amount` (of the payment) and `refunded` are in the currency's smallest unit.
        """
        newer = tuple_(payments.c.refunded_at, payments.c.refunded) <= tuple_(
            literal(told_at), literal(refunded)
        )
        values = {"amount": amount, "currency": currency, "refunded": refunded, "refunded_at": told_at}
        self._connection.execute(
            update(payments).where(payments.c.payment_id == payment_id, newer).values(values)
        )

    def note_dispute(self, dispute_id: str, values: Mapping[str, Any]) -> None:
        """Stores the state of a dispute (columns of `disputes`), unless a newer event is known."""
        row = upsert(disputes).values(dispute_id=dispute_id, **values)
        newer = tuple_(disputes.c.told_at, disputes.c.stage) <= tuple_(
            row.excluded.told_at, row.excluded.stage
        )
        told = {name: row.excluded[name] for name in ("amount", "currency", "status", "told_at", "stage")}
        self._connection.execute(
            row.on_conflict_do_update(index_elements=["dispute_id"], set_=told, where=newer)
        )

    def disputes(self, payment_id: str) -> list[Dispute]:
        columns = (disputes.c.amount, disputes.c.currency, disputes.c.status)
        rows = self._connection.execute(select(*columns).where(disputes.c.payment_id == payment_id))
        return [Dispute(**row) for row in rows.mappings()]

    def record(self, payment_id: str, clawed_back: int) -> None:
        """Stores how many of the payment's credits are taken back in all. Also counts the payment's ledger entries, one
        more at each call: the number is part of the next entry's operation id.
        """
        values = {"clawed_back": clawed_back, "entries_count": payments.c.entries_count + 1}
        self._connection.execute(update(payments).where(payments.c.payment_id == payment_id).values(values))

    def forget_unmatched(self, after: timedelta) -> int:
        """Deletes payments, with their refunds and disputes, that were noted longer than `after` ago and still belong
        to no purchase of credits. Returns how many it deleted.
        """
        here = (payments.c.account_id.is_(None), payments.c.noted_at < func.clock_now() - after)
        return self._connection.execute(delete(payments).where(*here)).rowcount
