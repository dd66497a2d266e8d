"""Changes and shows an account's credits, inside a transaction that the caller has opened.

So a job and its charge are committed together. The account's ledger stays locked until the transaction ends: keep the
transaction short, and charge as its first write.
"""

from ai.rules import ledger
from ai.rules.ledger import Book
from ai.rules.offers import auto_refill, packs
from ai.rules.prices import COSTS, CreditSettings
from ai.store import Connection
from ai.store.ledger import Ledgers, LedgerState
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
    """Takes credits from the caller's account: plan credits first, then referral credits, then bought ones. Returns the
    amount charged and the balance.

    For a repeated operation id nothing is charged; the amount of the first charge is returned, with the present
    balance. Raises ApiError INSUFFICIENT_CREDITS if the account holds too few credits, and AI_GENERATION_FAILED when
    the operation has been refunded.
    """
    store = Ledgers(connection)
    state = store.lock(caller.account_id)
    month = ledger.month_of(state.now)
    new = ledger.due(state.book, month, PLANS[caller.tier].plan_credits)
    book = state.book.with_entries(new)
    if (found := store.find("charge", operation_id)) is not None:
        owner, charged = found
        if owner != caller.account_id or store.find("refund", operation_id):
            raise ApiError(errors.AI_GENERATION_FAILED)
        return _after_charge(book, caller.tier, charged.spent)
    taken = ledger.charge(book, operation_id, month, credits, action=action, job_id=job_id)
    if taken is None:
        raise _insufficient(settings, book, credits)
    book = book.with_entries([taken])
    store.add(state, [*new, taken])
    _mark_if_low(connection, state, caller, book)
    return _after_charge(book, caller.tier, credits)


def check(connection: Connection, settings: CreditSettings, caller: Caller, required: int) -> None:
    """Checks that the balance covers `required` credits, without charging. Raises INSUFFICIENT_CREDITS
    if it does not.
    """
    book = with_month_entries(Ledgers(connection).read(caller.account_id), caller.tier)
    if book.available < required:
        raise _insufficient(settings, book, required)


def mark_refill_after_refusal(connection: Connection, caller: Caller) -> None:
    """Marks the account for auto-refill after a charge was refused with INSUFFICIENT_CREDITS and rolled back.

    A successful charge marks an account that is left with too few credits. But after a declined payment, an account
    without credits can make no successful charge: without this mark it would never be refilled again.
    """
    store = Ledgers(connection)
    if store.read(caller.account_id).refill_below is not None:  # auto-refill is on
        state = store.lock(caller.account_id)
        _mark_if_low(connection, state, caller, with_month_entries(state, caller.tier))


def _mark_if_low(connection: Connection, state: LedgerState, caller: Caller, book: Book) -> None:
    if state.refill_below is not None and book.available < state.refill_below:
        AutoRefills(connection).mark_due(caller.account_id, caller.tier)


def refund(connection: Connection, operation_id: str) -> bool:
    """Gives back the credits that an operation was charged. Returns False if there is no such charge, or if it was
    refunded before."""
    store = Ledgers(connection)
    if (found := store.find("charge", operation_id)) is None:
        return False
    account_id, charged = found
    state = store.lock(account_id)
    if store.find("refund", operation_id) is not None:
        return False
    store.add(state, ledger.refund(state.book, charged, ledger.month_of(state.now)))
    return True


def after_charge(connection: Connection, account_id: str, tier: str, charged: int) -> CreditsAfterCharge:
    """Returns `charged`, the credits that a job was charged, with the account's present balance (docs/decisions.md,
    "GET /ai/jobs/{id} credits"). One query, no writes.
    """
    return _after_charge(with_month_entries(Ledgers(connection).read(account_id), tier), tier, charged)


def balance(connection: Connection, settings: CreditSettings, caller: Caller) -> CreditsBalance:
    """Returns the balance of the caller's account, as the spec's CreditsBalance. Two or three queries, no writes.

    An unverified account has no plan credits and is offered no packs.
    """
    state = Ledgers(connection).read(caller.account_id)
    book = with_month_entries(state, caller.tier) if caller.verified else state.book
    saved = AutoRefills(connection).find(caller.account_id)
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
            next_reset_at=ledger.ends_at(ledger.open_month(book, ledger.month_of(state.now))),
        ),
        costs=COSTS,
        packs=packs(settings, caller.account_id, offered=caller.verified),
        auto_refill=auto_refill(
            settings, saved, Refills(connection).newest(caller.account_id) if saved else None
        ),
        billing_url=settings.billing_url,
    )


def grant(connection: Connection, caller: Caller, request: GrantCredits) -> None:
    """Adds credits of the kind "bought" or "referral" to an account, for the operator, once per `caller.operation_id`.

    Raises ApiError MISSING_SCOPE for any caller but the operator, VALIDATION_ERROR for an invalid field, and
    MISSING_FIELD if there is no operation id.
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
    """Adds credits that do not expire (kind `purchase`, `auto_refill` or `referral`), once per operation. Returns
    False if that was done before.

    If the account owes credits, bought credits pay the debt first.
    """
    store = Ledgers(connection)
    state = store.lock(account_id)
    if store.find(kind, operation_id) is not None:
        return False
    month = ledger.month_of(state.now)
    given = ledger.deposit(kind, operation_id, month, amount)
    collected = None
    if kind != "referral":
        book = state.book.with_entries([given])
        collected = ledger.collection(book, f"{kind}:{operation_id}", month)
    store.add(state, [given] if collected is None else [given, collected])
    return True


def check_tier(tier: str) -> None:
    """Raises ApiError VALIDATION_ERROR for an unknown tier."""
    if tier not in PLANS:
        raise errors.invalid("tier", "is not a tier")


def _insufficient(settings: CreditSettings, book: Book, required: int) -> ApiError:
    """Builds the error INSUFFICIENT_CREDITS with the fields of the spec ("Errors")."""
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


def with_month_entries(state: LedgerState, tier: str) -> Book:
    """Returns the credits that the account holds and owes now: with this month's plan credits, and without expired
    ones. It computes these from the ledger's sums, even if the ledger lacks the entries for them; the next charge adds
    such entries.
    """
    new = ledger.due(state.book, ledger.month_of(state.now), PLANS[tier].plan_credits)
    return state.book.with_entries(new)


def _after_charge(book: Book, tier: str, charged: int) -> CreditsAfterCharge:
    return CreditsAfterCharge(
        charged=charged,
        remaining=book.available,
        plan_remaining=book.plan,
        bonus=book.bonus,
        plan=PLANS[tier].credit_plan,
    )
