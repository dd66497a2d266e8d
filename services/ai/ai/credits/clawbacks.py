"""Bought credits whose payment goes back: refunds and disputes take them back, a dispute that is won returns them.

What is kept of a payment is how things stand: how much of it is refunded, and the status of each dispute. From that
follows how many of its credits are to be taken back, and after every call of Stripe's the ledger is brought there. So
calls that come twice, in another order, or before the purchase's own end the same.

Credits are taken in proportion to the money, rounded down: a part of a credit stays with the customer, and a payment
that went back whole takes exactly what it bought (our choice).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

import structlog

from ai import measures
from ai.payments.base import PaymentDispute, PaymentRefund
from ai.rules import ledger
from ai.store import Connection
from ai.store.ledger import Ledgers
from ai.store.payments import Dispute, Payment, Payments
from chassis.bus.outbox import stage
from chassis.db.database import Database
from contracts.events import CreditsAdjusted

log = structlog.get_logger()

REFUND, DISPUTE = "refund", "dispute"
#: Statuses of a dispute in which the money is gone (Stripe, "Dispute object", `status`). An inquiry (`warning_…`) or a
#: prevented dispute takes none, and a dispute that is won has brought it back.
_MONEY_GONE = frozenset({"needs_response", "under_review", "lost"})
#: In which order the statuses of a dispute come, for those told in the same second; all others are final.
_STAGES = {"warning_needs_response": 0, "warning_under_review": 1, "needs_response": 2, "under_review": 3}
_FINAL = 4
#: How long a refund waits for its purchase's own call. Our choice: Stripe sends a call again for three days, and by
#: hand for thirty.
_WAITS_FOR_PURCHASE = timedelta(days=90)


@dataclass(frozen=True, slots=True)
class Adjustment:
    """What was done to an account's credits: taken back (negative) or returned, and what it owes since."""

    account_id: str
    payment_id: str
    reason: str
    credits: int
    newly_owed: int
    owed: int


def take(database: Database, told: PaymentRefund | PaymentDispute) -> None:
    """What Stripe says of money that goes back, or has come back."""
    with database.transaction() as connection:
        store = Payments(connection)
        store.lock(told.payment_id)
        if isinstance(told, PaymentRefund):
            store.note_refund(told.payment_id, told.told_at, told.amount, told.refunded, told.currency)
        else:
            values = {
                "payment_id": told.payment_id, "amount": told.amount, "currency": told.currency,
                "status": told.status, "told_at": told.told_at, "stage": _STAGES.get(told.status, _FINAL),
            }  # fmt: skip
            store.note_dispute(told.dispute_id, values)
        adjusted = adjust(connection, told.payment_id, REFUND if isinstance(told, PaymentRefund) else DISPUTE)
    announce(adjusted)


def adjust(connection: Connection, payment_id: str, cause: str | None = None) -> Adjustment | None:
    """Brings the ledger to what has gone back of the payment, which is locked; None when nothing is to be done.

    `cause` is of the call that told; without it, of what is known. The caller announces the result after its commit.
    """
    store = Payments(connection)
    payment, disputes = store.find(payment_id), store.disputes(payment_id)
    if payment.account_id is None:
        log.info("payment_unmatched", payment_id=payment_id)
        return None
    wanted = credits_gone(payment, disputes)
    change = payment.clawed_back - wanted
    if change == 0:
        return None
    cause = cause or (DISPUTE if any(dispute.status in _MONEY_GONE for dispute in disputes) else REFUND)
    ledgers = Ledgers(connection)
    standing = ledgers.lock(payment.account_id)
    make = ledger.clawback if change < 0 else ledger.reinstatement
    entry = make(
        standing.book,
        f"{payment_id}:{payment.entries_count + 1}",
        ledger.month_of(standing.now),
        abs(change),
        cause,
    )
    ledgers.add(standing, [entry])
    store.record(payment_id, wanted)
    book = standing.book.with_entries([entry])
    told = CreditsAdjusted(
        user_id=payment.account_id, reason=cause, credits=change, bonus=book.bonus, owed=book.owed
    )
    stage(connection, "account.credits.adjusted", told, account_id=payment.account_id)
    return Adjustment(payment.account_id, payment_id, cause, change, max(-entry.owed, 0), book.owed)


def credits_gone(payment: Payment, disputes: Iterable[Dispute]) -> int:
    """How many of a payment's credits are to be taken back. Pure.

    What is in dispute in another currency than was paid, or of a payment whose amount is not known, counts as the whole
    payment.
    """
    amount, bought = payment.amount or 0, payment.credits or 0
    open_disputes = [dispute for dispute in disputes if dispute.status in _MONEY_GONE]
    if amount <= 0 or any(dispute.currency != payment.currency for dispute in open_disputes):
        return bought if open_disputes or payment.refunded else 0
    gone = payment.refunded + sum(dispute.amount for dispute in open_disputes)
    return bought * min(gone, amount) // amount


def announce(adjusted: Adjustment | None) -> None:
    """Logs and counts what a transaction did, once it is over; alerts are raised by these figures."""
    if adjusted is None:
        return
    taken = -adjusted.credits
    tell = log.warning if taken > 0 else log.info
    tell(
        "credits_clawed_back" if taken > 0 else "credits_reinstated",
        account_id=adjusted.account_id, payment_id=adjusted.payment_id, reason=adjusted.reason,
        credits=abs(taken), newly_owed=adjusted.newly_owed, owed=adjusted.owed,
    )  # fmt: skip
    if taken > 0:
        measures.CLAWED_BACK.add(taken, {"reason": adjusted.reason})
    if adjusted.newly_owed:
        measures.OWED.add(adjusted.newly_owed, {"reason": adjusted.reason})


def forget_unmatched(database: Database) -> int:
    """Forgets refunds and disputes of payments that bought nothing here; how many there were."""
    with database.transaction() as connection:
        return Payments(connection).forget_unmatched(_WAITS_FOR_PURCHASE)
