"""Clawbacks: when a payment is refunded or disputed, its credits are taken back. When we win the dispute, they are
given again.

The service stores how much of a payment is refunded, and the status of its disputes. These data tell how many credits
must be taken back in all, and every notification adjusts the ledger to that number. So the result is the same if
notifications are repeated, out of order or ahead of the purchase.

Credits are taken in proportion to the money, rounded down: a fraction of a credit stays with the customer, and a full
refund takes exactly what was bought.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

import structlog

from ai import metrics
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
#: Dispute statuses in which the money is withheld (Stripe, "Dispute object", `status`). An inquiry (`warning_…`) or a
#: prevented dispute withholds none, and a won dispute has returned it.
_MONEY_WITHHELD = frozenset({"needs_response", "under_review", "lost"})
#: The order of dispute statuses, for events of the same second. All others are final.
_STAGES = {"warning_needs_response": 0, "warning_under_review": 1, "needs_response": 2, "under_review": 3}
_FINAL = 4
#: How long a refund waits for the notification of its purchase: Stripe repeats events for three days, and by hand for
#: thirty.
_KEEP_UNMATCHED = timedelta(days=90)


@dataclass(frozen=True, slots=True)
class Adjustment:
    """A change of an account's credits because of a refund or dispute.

    `credits`: how many were given again or, if negative, taken back. `owed`: the account's debt afterwards.
    `newly_owed`: how much of the debt this change has added.
    """

    account_id: str
    payment_id: str
    reason: str
    credits: int
    newly_owed: int
    owed: int


def apply_notification(database: Database, notification: PaymentRefund | PaymentDispute) -> None:
    """Records a refund or dispute and adjusts the account's credits."""
    with database.transaction() as connection:
        store = Payments(connection)
        store.lock(notification.payment_id)
        if isinstance(notification, PaymentRefund):
            store.note_refund(
                notification.payment_id,
                notification.event_at,
                notification.amount,
                notification.refunded,
                notification.currency,
            )
        else:
            values = {
                "payment_id": notification.payment_id, "amount": notification.amount, "currency": notification.currency,
                "status": notification.status, "told_at": notification.event_at,
                "stage": _STAGES.get(notification.status, _FINAL),
            }  # fmt: skip
            store.note_dispute(notification.dispute_id, values)
        adjusted = adjust(
            connection,
            notification.payment_id,
            REFUND if isinstance(notification, PaymentRefund) else DISPUTE,
        )
    announce(adjusted)


def adjust(connection: Connection, payment_id: str, cause: str | None = None) -> Adjustment | None:
    """Compares the credits that were taken back for a payment with those that its refunds and disputes require now.
    Adds a ledger entry for the difference, and stages an event. The payment's row must be locked.

    `cause`: REFUND or DISPUTE, for the entry; by default DISPUTE if the payment has a dispute that withholds money,
    else REFUND. Returns the change, for the caller to pass to `announce` after the commit. Returns None if nothing
    changes, or if the payment is not known as a purchase of credits.
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
    cause = cause or (DISPUTE if any(dispute.status in _MONEY_WITHHELD for dispute in disputes) else REFUND)
    ledgers = Ledgers(connection)
    state = ledgers.lock(payment.account_id)
    make = ledger.clawback if change < 0 else ledger.reinstatement
    entry = make(
        state.book,
        f"{payment_id}:{payment.entries_count + 1}",
        ledger.month_of(state.now),
        abs(change),
        cause,
    )
    ledgers.add(state, [entry])
    store.record(payment_id, wanted)
    book = state.book.with_entries([entry])
    event = CreditsAdjusted(
        user_id=payment.account_id, reason=cause, credits=change, bonus=book.bonus, owed=book.owed
    )
    stage(connection, "account.credits.adjusted", event, account_id=payment.account_id)
    return Adjustment(payment.account_id, payment_id, cause, change, max(-entry.owed, 0), book.owed)


def credits_gone(payment: Payment, disputes: Iterable[Dispute]) -> int:
    """Returns how many of a payment's credits must be taken back in all, because of its refunds and disputes. Pure.

    Usually that is the same share of the credits as of the money. It is all credits in two cases: a refunded or
    disputed payment has an unknown amount, or a dispute that withholds money is in another currency than the payment.
    """
    amount, bought = payment.amount or 0, payment.credits or 0
    open_disputes = [dispute for dispute in disputes if dispute.status in _MONEY_WITHHELD]
    if amount <= 0 or any(dispute.currency != payment.currency for dispute in open_disputes):
        return bought if open_disputes or payment.refunded else 0
    gone = payment.refunded + sum(dispute.amount for dispute in open_disputes)
    return bought * min(gone, amount) // amount


def announce(adjusted: Adjustment | None) -> None:
    """Logs an adjustment. Counts credits that were taken back, and new debt, in the metrics that alerts read. Does
    nothing for None. Call it after the commit.
    """
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
        metrics.CLAWED_BACK.add(taken, {"reason": adjusted.reason})
    if adjusted.newly_owed:
        metrics.OWED.add(adjusted.newly_owed, {"reason": adjusted.reason})


def forget_unmatched(database: Database) -> int:
    """Deletes old refunds and disputes whose payment never turned out to be a purchase of credits. Returns how many it
    deleted.
    """
    with database.transaction() as connection:
        return Payments(connection).forget_unmatched(_KEEP_UNMATCHED)
