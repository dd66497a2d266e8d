"""What the rest of the service does with credits: charge, refund, show. Rules are `ledger.py`, SQL `store/ledger.py`.

Everything here works inside the caller's open transaction, so that a job and its charge are one thing. The customer's
ledger is locked first and until the transaction ends: charge where the transaction begins to write, and be short.
"""

from ai.rules import ledger
from ai.rules.ledger import Book
from ai.rules.offers import auto_refill, packs
from ai.rules.prices import COSTS, CreditSettings
from ai.store import Connection
from ai.store.ledger import Ledgers, Standing
from ai.store.refills import AutoRefills, Refills
from contracts import errors
from contracts.ai import Credits, CreditsAfterCharge, CreditsBalance, GrantCredits
from contracts.caller import Caller
from contracts.errors import ApiError
from contracts.plans import PLANS


def charge(
    connection: Connection,
    settings: CreditSettings,
    caller: Caller,
    *,
    operation_id: str,
    job_id: str | None,
    credits: int,  # noqa: A002
    action: str,
) -> CreditsAfterCharge:
    """Takes credits from the caller's account: plan credits first, then referral, then bought ones.

    The same operation id again takes nothing and answers the charge it made, with what is left now.
    Raises ApiError INSUFFICIENT_CREDITS; AI_GENERATION_FAILED when the operation was refunded meanwhile.
    """
    store = Ledgers(connection)
    standing = store.lock(caller.account_id)
    month = ledger.month_of(standing.now)
    new = ledger.due(standing.book, month, PLANS[caller.tier].plan_credits)
    book = standing.book.with_entries(new)
    if (found := store.find("charge", operation_id)) is not None:
        owner, charged = found
        if owner != caller.account_id or store.find("refund", operation_id):
            raise ApiError(errors.AI_GENERATION_FAILED)
        return _left(book, caller.tier, charged.spent)
    taken = ledger.charge(book, operation_id, month, credits, action=action, job_id=job_id)
    if taken is None:
        raise _insufficient(settings, book, credits)
    book = book.with_entries([taken])
    store.add(standing, [*new, taken])
    _mark_if_low(connection, standing, caller, book)
    return _left(book, caller.tier, credits)


def check(connection: Connection, settings: CreditSettings, caller: Caller, required: int) -> None:
    """Whether the caller's account has so much, before anything is done for him. Raises INSUFFICIENT_CREDITS."""
    book = settled(Ledgers(connection).read(caller.account_id), caller.tier)
    if book.available < required:
        raise _insufficient(settings, book, required)


def refused(connection: Connection, caller: Caller) -> None:
    """After INSUFFICIENT_CREDITS, whose transaction is undone: auto-refill looks again, as it does after a charge.

    An account that can pay for nothing any more would never be refilled otherwise once a payment was declined.
    """
    store = Ledgers(connection)
    if store.read(caller.account_id).refill_below is not None:  # auto-refill is on
        standing = store.lock(caller.account_id)
        _mark_if_low(connection, standing, caller, settled(standing, caller.tier))


def _mark_if_low(connection: Connection, standing: Standing, caller: Caller, book: Book) -> None:
    if standing.refill_below is not None and book.available < standing.refill_below:
        AutoRefills(connection).mark_due(caller.account_id, caller.tier)


def refund(connection: Connection, operation_id: str) -> bool:
    """Gives an operation's charge back; False when there is none, or it was given back already."""
    store = Ledgers(connection)
    if (found := store.find("charge", operation_id)) is None:
        return False
    account_id, charged = found
    standing = store.lock(account_id)
    if store.find("refund", operation_id) is not None:
        return False
    store.add(standing, ledger.refund(standing.book, charged, ledger.month_of(standing.now)))
    return True


def after_charge(connection: Connection, account_id: str, tier: str, charged: int) -> CreditsAfterCharge:
    """What is left now, beside what a job cost (decisions "GET /ai/jobs/{id} credits"). One query; writes nothing."""
    return _left(settled(Ledgers(connection).read(account_id), tier), tier, charged)


def balance(connection: Connection, settings: CreditSettings, caller: Caller) -> CreditsBalance:
    """Spec "CreditsBalance". Two or three queries; writes nothing.

    An unverified account has no plan credits, and is offered no packs.
    """
    standing = Ledgers(connection).read(caller.account_id)
    book = settled(standing, caller.tier) if caller.verified else standing.book
    wish = AutoRefills(connection).find(caller.account_id)
    return CreditsBalance(
        credits=Credits(
            available=book.available,
            plan=PLANS[caller.tier].credit_plan,
            plan_allowance=book.allowance,
            plan_used=book.allowance - book.plan,
            plan_remaining=book.plan,
            bonus=book.bonus,
            referral=book.referral,
            owed=book.owed,
            next_reset_at=ledger.ends_at(ledger.open_month(book, ledger.month_of(standing.now))),
        ),
        costs=COSTS,
        packs=packs(settings, caller.account_id, offered=caller.verified),
        auto_refill=auto_refill(
            settings, wish, Refills(connection).newest(caller.account_id) if wish else None
        ),
        billing_url=settings.billing_url,
    )


def grant(connection: Connection, caller: Caller, request: GrantCredits) -> None:
    """The operator's hand: bought or referral credits, once per `caller.operation_id`.

    Raises ApiError MISSING_SCOPE, VALIDATION_ERROR, MISSING_FIELD (no operation id).
    """
    caller.check_operator()
    check_tier(request.tier)
    if caller.operation_id is None:
        raise ApiError(errors.MISSING_FIELD, field="operation_id")
    give(
        connection,
        request.account_id,
        "referral" if request.referral else "purchase",
        caller.operation_id,
        request.amount,
    )


def give(connection: Connection, account_id: str, kind: str, operation_id: str, amount: int) -> bool:
    """Adds credits that stay (`purchase`, `auto_refill`, `referral`); False when this was done already.

    What the account owes is taken out of credits that were bought.
    """
    store = Ledgers(connection)
    standing = store.lock(account_id)
    if store.find(kind, operation_id) is not None:
        return False
    month = ledger.month_of(standing.now)
    given = ledger.given(kind, operation_id, month, amount)
    collected = None
    if kind != "referral":
        book = standing.book.with_entries([given])
        collected = ledger.collection(book, f"{kind}:{operation_id}", month)
    store.add(standing, [given] if collected is None else [given, collected])
    return True


def check_tier(tier: str) -> None:
    """Raises ApiError VALIDATION_ERROR."""
    if tier not in PLANS:
        raise errors.invalid("tier", "is not a tier")


def _insufficient(settings: CreditSettings, book: Book, required: int) -> ApiError:
    """INSUFFICIENT_CREDITS with the fields of the spec ("Errors")."""
    return ApiError(
        errors.INSUFFICIENT_CREDITS,
        required=required,
        available=book.available,
        plan_remaining=book.plan,
        bonus=book.bonus,
        billing_url=settings.billing_url,
        packs_url=settings.packs_url,
        auto_refill_url=settings.auto_refill_url,
    )


def settled(standing: Standing, tier: str) -> Book:
    """The book as it is once this month's entries are in it; they are written with the next charge."""
    new = ledger.due(standing.book, ledger.month_of(standing.now), PLANS[tier].plan_credits)
    return standing.book.with_entries(new)


def _left(book: Book, tier: str, charged: int) -> CreditsAfterCharge:
    return CreditsAfterCharge(
        charged=charged,
        remaining=book.available,
        plan_remaining=book.plan,
        bonus=book.bonus,
        plan=PLANS[tier].credit_plan,
    )
