"""Auto-refill: the owner's settings, and the worker loop that requests payments (spec "AI credits" 3).

A refill is one automatic purchase of credits. A charge that leaves too few credits marks the account (balances.py). The
worker stores a refill, requests its payment with the refill's id as idempotency key, and records the result. If no
answer arrives it requests the payment again while the owner's settings still ask for it; later it only searches for the
payment. A notification of the payment provider (payment_notifications.py) may report the result earlier. The operation
id of the ledger entry is the refill's id, so credits are given once.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import structlog

from ai.credits import clawbacks
from ai.credits.balances import check_tier, give, with_month_entries
from ai.credits.clawbacks import Adjustment
from ai.payments.base import (
    INVALID_REQUEST,
    AnswerReplayed,
    Order,
    OutcomeUnknown,
    PaymentOutcome,
    PaymentProvider,
    PaymentState,
)
from ai.records import AutoRefillSettings, Refill
from ai.rules.prices import REFILL_AMOUNTS, REFILL_GAP_SECONDS, REFILL_UNIT, REFILLS_PER_DAY, CreditSettings
from ai.store import Connection
from ai.store.ledger import Ledgers
from ai.store.payments import Payments
from ai.store.refills import AutoRefills, Refills
from chassis.db.database import Database
from chassis.db.operations import Operations
from chassis.ids import new_id
from chassis.telemetry import tracing
from contracts import errors
from contracts.ai import EditAutoRefill, SetAutoRefill
from contracts.caller import Caller
from contracts.errors import ApiError

log = structlog.get_logger()

#: Accounts checked and payments requested per tick. A tick ends at 120 s: four slow answers fit.
_BATCH = 4
#: The provider may forget an idempotency key after a day, so later the payment is searched for instead.
_RESEND_WINDOW = timedelta(hours=23)
#: A payment that is not found this long after it was last sent never arrived: Stripe's search may be an hour behind
#: (docs.stripe.com/search).
_SEARCH_DELAY = timedelta(hours=1)
#: The error of a refill that was searched for and not found.
_NEVER_RECEIVED = "never_taken"
#: Prefixes of errors that say nothing about the card, because the order never reached its issuer.
_NOT_CARD_ERRORS = (_NEVER_RECEIVED, INVALID_REQUEST)
#: After this many declines in a row the card is not charged any more: as many as a day's refills.
_MAX_DECLINES = 5
#: Declines that no later try changes (Stripe, "Decline codes" and "Smart Retries").
_PERMANENT_DECLINES = frozenset(
    {
        "authentication_required", "expired_card", "highest_risk_level", "incorrect_number", "lost_card",
        "pickup_card", "requires_action", "revocation_of_all_authorizations", "revocation_of_authorization",
        "stolen_card", "transaction_not_allowed",
    }
)  # fmt: skip


def set_auto_refill(database: Database, caller: Caller, request: SetAutoRefill) -> None:
    """Saves an account's auto-refill settings, for the operator. Fields that the request leaves out keep their value.

    A repeated operation changes nothing, even if other settings were saved meanwhile. Raises ApiError MISSING_SCOPE for
    any caller but the operator, and VALIDATION_ERROR for invalid settings.
    """
    caller.check_operator()
    check_tier(request.tier)
    _save(database, caller, request)


def edit_auto_refill(database: Database, caller: Caller, request: EditAutoRefill) -> None:
    """Saves the auto-refill settings of the caller's account, except for the card: that is the one that the operator
    has set.

    A repeated operation changes nothing. Raises ApiError VALIDATION_ERROR for invalid settings, EMAIL_NOT_VERIFIED for
    an unverified account, and BRAND_NOT_AUTHORIZED for a token that is limited to brands, because all brands share the
    credits.
    """
    if caller.brand_ids is not None:
        raise ApiError(errors.BRAND_NOT_AUTHORIZED)
    if not caller.verified:
        raise ApiError(errors.EMAIL_NOT_VERIFIED)
    wanted = SetAutoRefill(
        account_id=caller.account_id,
        tier=caller.tier,
        enabled=request.enabled,
        threshold=request.threshold,
        amount=request.amount,
    )
    _save(database, caller, wanted)


def _save(database: Database, caller: Caller, request: SetAutoRefill) -> None:
    with database.transaction() as connection:
        operations = Operations(connection)
        if operations.lock(caller).result is not None:
            return
        Ledgers(connection).lock(request.account_id)
        store = AutoRefills(connection)
        store.save(_merged(request, store.find(request.account_id)))
        operations.end(caller, request.account_id)


def _merged(request: SetAutoRefill, before: AutoRefillSettings | None) -> AutoRefillSettings:
    threshold, amount, customer, payment_method = (
        request.threshold, request.amount, request.payment_customer, request.payment_method,
    )  # fmt: skip
    if request.enabled and (threshold is None or amount is None):
        raise errors.invalid(
            "threshold" if threshold is None else "amount", "is needed to turn auto-refill on"
        )
    if amount is not None and amount not in REFILL_AMOUNTS:
        raise errors.invalid("amount", f"must be one of {', '.join(map(str, REFILL_AMOUNTS))}")
    return AutoRefillSettings(
        account_id=request.account_id,
        tier=request.tier,
        enabled=request.enabled,
        threshold=threshold if threshold is not None else before.threshold if before else 0,
        credits=amount if amount is not None else before.credits if before else REFILL_UNIT,
        customer=customer or (before.customer if before else None),
        payment_method=payment_method or (before.payment_method if before else None),
    )


def run_refills(database: Database, settings: CreditSettings, payments: PaymentProvider) -> int:
    """Checks the balance of each account that is marked for a check, and opens a refill where one is needed. Then asks
    the payment provider about the open refills. Does nothing if the provider takes no payments.

    Returns how many accounts it checked, plus how many refills it asked about.
    """
    if not payments.available:
        return 0
    with database.reading() as connection:
        due = AutoRefills(connection).due(_BATCH)
    for account_id in due:
        open_refill(database, settings, account_id)
    asked = 0
    while asked < _BATCH and request_next_payment(database, payments):
        asked += 1
    return len(due) + asked


def open_refill(database: Database, settings: CreditSettings, account_id: str) -> None:
    """Stores an open refill (an automatic purchase that must still be paid) if the balance is below the owner's
    threshold. Stores none while another refill is open, while the account owes credits, if there is no card that may be
    charged, or if the limits on refills are reached.

    Also stores when the account's balance must be checked next, or that it need not be checked.
    """
    with database.transaction() as connection:
        state = Ledgers(connection).lock(account_id)
        settings_store, store = AutoRefills(connection), Refills(connection)
        wanted = settings_store.find(account_id)
        if wanted is None or wanted.due_at is None or wanted.due_at > state.now:
            return  # another replica was faster
        newest = store.newest(account_id)
        is_open = newest is not None and newest.state == "open"
        left = with_month_entries(state, wanted.tier).available
        if state.book.owed:  # an account with a debt from a clawback is not charged again
            settings_store.set_due(account_id, None)
            return
        if is_open or left >= wanted.threshold or not (wanted.customer and wanted.payment_method):
            settings_store.set_due(account_id, None)
            return
        if is_card_exhausted(store.since(wanted, _MAX_DECLINES)):
            settings_store.set_due(account_id, None)
            return
        allowed_at = next_refill_at(store.times(account_id), state.now)
        if allowed_at > state.now:
            settings_store.set_due(account_id, allowed_at)
            return
        price_cents = round(wanted.credits / REFILL_UNIT * settings.refill_unit_price_usd * 100)
        store.add(
            Refill(
                id=new_id("rfl"),
                account_id=account_id,
                credits=wanted.credits,
                price_cents=price_cents,
                customer=wanted.customer,
                payment_method=wanted.payment_method,
                traceparent=wanted.traceparent,
            )
        )
        settings_store.set_due(account_id, None)


def is_card_exhausted(newest: Sequence[Refill]) -> bool:
    """Whether the card must not be charged any more: its last _MAX_DECLINES payments were all declined, or the newest
    payment was declined for a permanent reason.

    `newest`: the refills with this card since the settings were saved, newest first. So after a successful payment, or
    when the settings are saved again, the card may be charged again.
    """
    declines = [
        refill.state == "failed" and not (refill.error or "").startswith(_NOT_CARD_ERRORS)
        for refill in newest
    ]
    if declines[:1] == [True] and newest[0].error in _PERMANENT_DECLINES:
        return True
    return len(declines) >= _MAX_DECLINES and all(declines)


def next_refill_at(times: Sequence[datetime], now: datetime) -> datetime:
    """Returns the time from which the next refill is allowed. `times`: when the refills of the last 24 hours were
    requested, oldest first."""
    at = max(now, times[-1] + timedelta(seconds=REFILL_GAP_SECONDS)) if times else now
    if sum(time.date() == at.date() for time in times) < REFILLS_PER_DAY:
        return at
    return at.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)


def request_next_payment(database: Database, payments: PaymentProvider) -> bool:
    """Claims one open refill, requests its payment and records the result. Returns False when no refill is waiting.

    If the provider's answer does not show the outcome, the refill stays open and is claimed again later.
    """
    with database.transaction() as connection:
        refill = Refills(connection).claim()
    if refill is None:
        return False
    order = Order(
        id=refill.id,
        account_id=refill.account_id,
        price_cents=refill.price_cents,
        customer=refill.customer,
        payment_method=refill.payment_method,
    )
    with tracing.working("refill", refill.traceparent, "ai", refill.account_id, refill_id=refill.id):
        try:
            payment = _outcome(database, payments, refill, order)
        except OutcomeUnknown as error:
            log.warning("refill_outcome_unknown", refill_id=refill.id, reason=str(error))
            return True  # the claim lapses, and it is tried again
        with database.transaction() as connection:
            adjusted = settle(connection, refill.id, payment)
        clawbacks.announce(adjusted)
    return True


def _outcome(database: Database, payments: PaymentProvider, refill: Refill, order: Order) -> PaymentOutcome:
    """Finds out whether a refill was paid, and returns the outcome.

    If the payment's id is known, asks the provider for its state. Otherwise requests the payment. If it must not be
    requested (any more), searches for a payment from an earlier request instead. Raises OutcomeUnknown while the
    provider cannot tell whether the refill was paid.
    """
    if refill.payment_id is not None:
        return payments.look_up(refill.payment_id)
    if refill.still_wanted and refill.error is None and refill.age < _RESEND_WINDOW:
        with database.transaction() as connection:
            Refills(connection).mark_sent(refill.id)
        try:
            return payments.pay(order)
        except AnswerReplayed:
            with database.transaction() as connection:
                # Stripe replays the answer to an earlier request, so this one did nothing.
                Refills(connection).stop_sending(refill.id, "answer_kept", refill.unanswered)
    found = payments.find(refill.id)
    if found is None and refill.unanswered < _SEARCH_DELAY:
        raise OutcomeUnknown("not found yet")
    return found or PaymentOutcome(PaymentState.FAILED, error=_NEVER_RECEIVED)


def settle(connection: Connection, refill_id: str, payment: PaymentOutcome) -> Adjustment | None:
    """Records the result of a refill's payment, and gives the account the credits if the refill was paid. Does nothing
    for an unknown refill.

    A late success replaces a failure that was recorded before. If the payment has been refunded already, its credits
    are taken back at once; the caller announces the returned adjustment after the commit.
    """
    store, payments = Refills(connection), Payments(connection)
    if (refill := store.find(refill_id)) is None:
        return None
    if payment.state is PaymentState.PAID and payment.paid_cents != refill.price_cents:
        log.error("refill_wrong_amount", refill_id=refill_id, paid_cents=payment.paid_cents)
        payment = replace(payment, state=PaymentState.FAILED, error="wrong_amount")
    paid_by = payment.payment_id if payment.state is PaymentState.PAID else None
    if paid_by is not None:
        payments.lock(paid_by)
    Ledgers(connection).lock(refill.account_id)
    if payment.state is PaymentState.PAID:
        give(connection, refill.account_id, "auto_refill", refill_id, refill.credits)
        if (wanted := AutoRefills(connection).find(refill.account_id)) is not None:
            AutoRefills(connection).mark_due(refill.account_id, wanted.tier)  # one refill may not be enough
    state = "open" if payment.state is PaymentState.PENDING else payment.state.value
    store.record(refill_id, state, payment.payment_id, payment.error)
    if paid_by is None:
        return None
    payments.note_purchase(paid_by, refill.account_id, refill.credits, refill.price_cents, "usd")
    return clawbacks.adjust(connection, paid_by)
