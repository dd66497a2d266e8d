"""Auto-refill: settings, the worker that asks for payment, and the provider's own calls (spec "AI credits" 3).

For service.py, with `payments = ai.payments.registry.provider(settings.credits.payment_provider, settings.stripe)`
made once per process:
    @loop(interval_seconds=2.0)   run_refills(database, settings.credits, payments) -> int
    set_auto_refill               set_auto_refill(database, caller, request), then answer `credits.balance`
    payment_hook                  take_hook(database, settings.credits, payments, request)

A charge that leaves too little marks the account (credits.py). The worker writes a refill, asks for the payment with
the refill's id as idempotency key, and records the answer. An answer that does not come is asked for again while the
owner wishes it, then looked for; or it is told by the provider's own call. Whatever comes twice, the credits are given
once: the entry's operation id is the refill's.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import structlog

from ai.credits import clawbacks
from ai.credits.balances import check_tier, give, settled
from ai.credits.clawbacks import Adjustment
from ai.payments.base import (
    INVALID_REQUEST,
    AnswerKept,
    BadSignature,
    Order,
    OutcomeUnknown,
    PackSale,
    Payment,
    PaymentDispute,
    PaymentProvider,
    PaymentRefund,
    PaymentState,
)
from ai.rules.prices import REFILL_AMOUNTS, REFILL_GAP_SECONDS, REFILL_UNIT, REFILLS_PER_DAY, CreditSettings
from ai.store import Connection
from ai.store.ledger import Ledgers
from ai.store.payments import Payments
from ai.store.refills import AutoRefills, Refill, Refills, Wish
from chassis.db import clock
from chassis.db.database import Database
from chassis.ids import new_id
from chassis.telemetry import tracing
from contracts import errors
from contracts.ai import PaymentHook, SetAutoRefill
from contracts.caller import Caller

log = structlog.get_logger()

#: Accounts looked at, and payments asked for, in one tick, which ends at 120 s: four slow answers fit. Our choice.
_PER_TICK = 4
#: A provider may forget an idempotency key after a day: after this an order is looked for instead. Our choice.
_ASK_FOR = timedelta(hours=23)
#: What is not found so long after it was last sent was never taken: Stripe's search may be an hour behind
#: (docs.stripe.com/search).
_FOUND_WITHIN = timedelta(hours=1)
#: What was looked for and is not there.
_NEVER_TAKEN = "never_taken"
#: How errors begin that are no word of a card: the order never came to its issuer.
_NO_DECLINES = (_NEVER_TAKEN, INVALID_REQUEST)
#: So many declines in a row, and a card is left alone. Our choice: a day's.
_MOST_DECLINES = 5
#: Declines that no later try changes (Stripe, "Decline codes" and "Smart Retries").
_FOR_GOOD = frozenset(
    {
        "authentication_required", "expired_card", "highest_risk_level", "incorrect_number", "lost_card",
        "pickup_card", "requires_action", "revocation_of_all_authorizations", "revocation_of_authorization",
        "stolen_card", "transaction_not_allowed",
    }
)  # fmt: skip


def set_auto_refill(database: Database, caller: Caller, request: SetAutoRefill) -> None:
    """The operator, for the account's owner. What is not said stays as it was.

    Raises ApiError MISSING_SCOPE, VALIDATION_ERROR.
    """
    caller.check_operator()
    check_tier(request.tier)
    with database.transaction() as connection:
        Ledgers(connection).lock(request.account_id)
        store = AutoRefills(connection)
        store.save(_wish(request, store.find(request.account_id)))


def _wish(request: SetAutoRefill, before: Wish | None) -> Wish:
    threshold, amount, customer, payment_method = (
        request.threshold, request.amount, request.payment_customer, request.payment_method,
    )  # fmt: skip
    if request.enabled and (threshold is None or amount is None):
        raise errors.invalid(
            "threshold" if threshold is None else "amount", "is needed to turn auto-refill on"
        )
    if amount is not None and amount not in REFILL_AMOUNTS:
        raise errors.invalid("amount", f"must be one of {', '.join(map(str, REFILL_AMOUNTS))}")
    return Wish(
        account_id=request.account_id,
        tier=request.tier,
        enabled=request.enabled,
        threshold=threshold if threshold is not None else before.threshold if before else 0,
        credits=amount if amount is not None else before.credits if before else REFILL_UNIT,
        customer=customer or (before.customer if before else None),
        payment_method=payment_method or (before.payment_method if before else None),
    )


def run_refills(database: Database, settings: CreditSettings, payments: PaymentProvider) -> int:
    """One tick: looks at accounts that are marked, asks for what is open; how many it dealt with."""
    if not payments.available:
        return 0
    with database.reading() as connection:
        due = AutoRefills(connection).due(_PER_TICK)
    for account_id in due:
        open_refill(database, settings, account_id)
    asked = 0
    while asked < _PER_TICK and ask_next(database, payments):
        asked += 1
    return len(due) + asked


def open_refill(database: Database, settings: CreditSettings, account_id: str) -> None:
    """Writes a refill if the balance is below the threshold and the limits allow one; else notes when to look again."""
    with database.transaction() as connection:
        standing = Ledgers(connection).lock(account_id)
        wishes, store = AutoRefills(connection), Refills(connection)
        wish = wishes.find(account_id)
        if wish is None or wish.due_at is None or wish.due_at > standing.now:
            return  # another replica was here
        newest = store.newest(account_id)
        is_open = newest is not None and newest.state == "open"
        left = settled(standing, wish.tier).available
        if standing.book.owed:  # an account that owes for a payment that went back is not charged again
            wishes.look_again(account_id, None)
            return
        if is_open or left >= wish.threshold or not (wish.customer and wish.payment_method):
            wishes.look_again(account_id, None)
            return
        if is_hopeless(store.since(wish, _MOST_DECLINES)):
            wishes.look_again(account_id, None)
            return
        allowed_at = next_allowed(store.times(account_id), standing.now)
        if allowed_at > standing.now:
            wishes.look_again(account_id, allowed_at)
            return
        price_cents = round(wish.credits / REFILL_UNIT * settings.refill_unit_price_usd * 100)
        store.add(
            Refill(
                id=new_id("rfl"),
                account_id=account_id,
                credits=wish.credits,
                price_cents=price_cents,
                customer=wish.customer,
                payment_method=wish.payment_method,
                traceparent=wish.traceparent,
            )
        )
        wishes.look_again(account_id, None)


def is_hopeless(newest: Sequence[Refill]) -> bool:
    """Whether the card is asked no more, by the newest refills since it was named, newest first: a payment that
    succeeds, or auto-refill saved again, gives it another chance.
    """
    declines = [
        refill.state == "failed" and not (refill.error or "").startswith(_NO_DECLINES) for refill in newest
    ]
    if declines[:1] == [True] and newest[0].error in _FOR_GOOD:
        return True
    return len(declines) >= _MOST_DECLINES and all(declines)


def next_allowed(times: Sequence[datetime], now: datetime) -> datetime:
    """When the next refill may be asked for, after those asked for at `times` (in order, of 24 hours)."""
    at = max(now, times[-1] + timedelta(seconds=REFILL_GAP_SECONDS)) if times else now
    if sum(time.date() == at.date() for time in times) < REFILLS_PER_DAY:
        return at
    return at.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)


def ask_next(database: Database, payments: PaymentProvider) -> bool:
    """Claims one open refill, asks for it and records what became of it; False when none is waiting."""
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
            return True  # the claim lapses, and it is asked for again
        with database.transaction() as connection:
            adjusted = settle(connection, refill.id, payment)
        clawbacks.announce(adjusted)
    return True


def _outcome(database: Database, payments: PaymentProvider, refill: Refill, order: Order) -> Payment:
    """Raises OutcomeUnknown."""
    if refill.payment_id is not None:
        return payments.look_up(refill.payment_id)
    if refill.wished and refill.error is None and refill.age < _ASK_FOR:
        with database.transaction() as connection:
            Refills(connection).sending(refill.id)
        try:
            return payments.pay(order)
        except AnswerKept:
            with database.transaction() as connection:
                # What Stripe repeats is what came of an earlier sending: this one did nothing.
                Refills(connection).send_no_more(refill.id, "answer_kept", refill.unanswered)
    found = payments.find(refill.id)
    if found is None and refill.unanswered < _FOUND_WITHIN:
        raise OutcomeUnknown("not found yet")
    return found or Payment(PaymentState.FAILED, error=_NEVER_TAKEN)


def settle(connection: Connection, refill_id: str, payment: Payment) -> Adjustment | None:
    """Records what became of a refill, and gives the credits if it was paid; nothing when there is no such refill.

    A payment that succeeds after all, in the provider's own time, counts whatever was recorded before. Where it was
    refunded before it was recorded its credits are taken back at once: that is returned, to be announced.
    """
    store, payments = Refills(connection), Payments(connection)
    if (refill := store.find(refill_id)) is None:
        return None
    if payment.state is PaymentState.PAID and payment.paid_cents != refill.price_cents:
        log.error("refill_paid_wrongly", refill_id=refill_id, paid_cents=payment.paid_cents)
        payment = replace(payment, state=PaymentState.FAILED, error="wrong_amount")
    paid_by = payment.payment_id if payment.state is PaymentState.PAID else None
    if paid_by is not None:
        payments.lock(paid_by)
    Ledgers(connection).lock(refill.account_id)
    if payment.state is PaymentState.PAID:
        give(connection, refill.account_id, "auto_refill", refill_id, refill.credits)
        if (wish := AutoRefills(connection).find(refill.account_id)) is not None:
            AutoRefills(connection).mark_due(refill.account_id, wish.tier)  # it may still be too little
    state = "open" if payment.state is PaymentState.PENDING else payment.state.value
    store.record(refill_id, state, payment.payment_id, payment.error)
    if paid_by is None:
        return None
    payments.note_purchase(paid_by, refill.account_id, refill.credits, refill.price_cents, "usd")
    return clawbacks.adjust(connection, paid_by)


def take_hook(
    database: Database, settings: CreditSettings, payments: PaymentProvider, request: PaymentHook
) -> None:
    """The payment provider's own call; what is not about us is taken and forgotten.

    Raises ApiError VALIDATION_ERROR when it is not the provider's: nothing was done then.
    """
    if request.provider != settings.payment_provider:
        raise errors.invalid("provider", "is not configured")
    with database.reading() as connection:
        now = clock.now(connection)
    try:
        told = payments.read_hook(request.body.encode(), request.signature, now)
    except BadSignature as error:
        log.warning("payment_hook_refused", reason=str(error))
        raise errors.invalid("signature", "is not valid") from None
    if isinstance(told, PackSale):
        sell_pack(database, settings, told)
    elif isinstance(told, PaymentRefund | PaymentDispute):
        clawbacks.take(database, told)
    elif told is not None and told.order_id:
        with database.transaction() as connection:
            adjusted = settle(connection, told.order_id, told)
        clawbacks.announce(adjusted)


def sell_pack(database: Database, settings: CreditSettings, sale: PackSale) -> None:
    """A pack bought by its payment link: credited once per sale."""
    if sale.credits not in settings.pack_links:
        log.error("pack_unknown", sale_id=sale.sale_id, credits=sale.credits)
        return
    adjusted = None
    with database.transaction() as connection:
        payments = Payments(connection)
        if sale.payment_id is not None:
            payments.lock(sale.payment_id)
        give(connection, sale.account_id, "purchase", sale.sale_id, sale.credits)
        if sale.payment_id is not None:
            payments.note_purchase(sale.payment_id, sale.account_id, sale.credits, sale.amount, sale.currency)
            adjusted = clawbacks.adjust(connection, sale.payment_id)
    clawbacks.announce(adjusted)
