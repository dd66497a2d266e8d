"""The rules of credits: which ledger entries a month, a charge and a refund create. Pure: no SQL, no clock.

A customer has three pools of credits. Plan credits are granted per month and expire with it. Referral credits and
bought credits stay; the API calls both together bonus. Plan credits are spent first (spec "AI credits" 2), then
referral credits, and bought ones last, because customers paid for these.
"""

from collections.abc import Iterable
from datetime import UTC, date, datetime

import msgspec

from contracts.record import Record


class Entry(Record):
    """One entry of the ledger. The amounts of all its columns add up to zero: what leaves one column enters another."""

    kind: str
    operation_id: str
    #: The first day of the month whose plan credits it is about.
    month: date
    plan: int = 0
    referral: int = 0
    bought: int = 0
    #: Credits that were clawed back after they had been spent. Negative when the debt grows.
    owed: int = 0
    issued: int = 0
    lapsed: int = 0
    spent: int = 0
    job_id: str | None = None
    action: str | None = None


class Book(Record):
    """The sums of all ledger entries of one account: what it holds and owes."""

    account_id: str
    plan: int = 0
    referral: int = 0
    bought: int = 0
    #: The customer's debt: clawbacks that the bought credits did not cover.
    owed: int = 0
    #: The newest month with granted plan credits; None before the first.
    month: date | None = None
    #: Plan credits granted for that month, and those carried into it by refunds of charges of an earlier month.
    granted: int = 0
    carried: int = 0

    @property
    def bonus(self) -> int:
        return self.referral + self.bought

    @property
    def available(self) -> int:
        return self.plan + self.bonus

    @property
    def allowance(self) -> int:
        return self.granted + self.carried

    def with_entries(self, entries: Iterable[Entry]) -> "Book":
        """Returns the sums as they are once these entries are added to the ledger."""
        book = self
        for entry in entries:
            book = book._with(entry)
        return book

    def _with(self, entry: Entry) -> "Book":
        changes: dict[str, object] = {
            name: getattr(self, name) + getattr(entry, name) for name in ("plan", "referral", "bought")
        }
        changes["owed"] = self.owed - entry.owed
        if entry.kind in ("grant", "carry"):
            new = self.month is None or entry.month > self.month
            granted, carried = (0, 0) if new else (self.granted, self.carried)
            changes["month"] = entry.month
            changes["granted"] = granted + (entry.plan if entry.kind == "grant" else 0)
            changes["carried"] = carried + (entry.plan if entry.kind == "carry" else 0)
        return msgspec.structs.replace(self, **changes)


def month_of(now: datetime) -> date:
    """Returns the calendar month (UTC) of a time, as the month's first day."""
    return date(now.year, now.month, 1)


def ends_at(month: date) -> datetime:
    """Returns the time at which the month ends and its plan credits expire."""
    return datetime(month.year + month.month // 12, month.month % 12 + 1, 1, tzinfo=UTC)


def open_month(book: Book, month: date) -> date:
    """Returns the month whose plan credits are valid. That is the present month, or the newest month with granted
    credits if that is later (because a clock was set back).
    """
    return month if book.month is None else max(book.month, month)


def due(book: Book, month: date, plan_credits: int) -> list[Entry]:
    """Returns the ledger entries that are still missing for the month. Such an entry lets unused plan credits of an
    earlier month expire, or grants the plan credits of this month. Empty if none is missing.

    After a change to a larger plan within the month, the difference is granted at once; a change to a smaller plan
    shows in the next month.
    """
    month = open_month(book, month)
    entries = _lapse_of_old_month(book, month)
    missing = plan_credits - (book.granted if book.month == month else 0)
    if missing > 0:
        # The amount is part of the operation id, so that a month's grant and each upgrade are posted once.
        name = f"{book.account_id}:{month:%Y-%m}:{plan_credits}"
        entries.append(Entry(kind="grant", operation_id=name, month=month, plan=missing, issued=-missing))
    return entries


def _lapse_of_old_month(book: Book, month: date) -> list[Entry]:
    if book.month is None or book.month >= month or book.plan == 0:
        return []
    name = f"{book.account_id}:{book.month:%Y-%m}"
    return [Entry(kind="lapse", operation_id=name, month=book.month, plan=-book.plan, lapsed=book.plan)]


def charge(
    book: Book, operation_id: str, month: date, amount: int, *, action: str, job_id: str | None
) -> Entry | None:
    """Returns the ledger entry that takes `amount` credits from the pools in their order; None when the pools together
    hold less.

    The entries that `due` returns for the month must be in the `book` already.
    """
    if amount > book.available:
        return None
    plan = min(amount, book.plan)
    referral = min(amount - plan, book.referral)
    return Entry(
        kind="charge",
        operation_id=operation_id,
        month=open_month(book, month),
        plan=-plan,
        referral=-referral,
        bought=-(amount - plan - referral),
        spent=amount,
        action=action,
        job_id=job_id,
    )


def refund(book: Book, charged: Entry, month: date) -> list[Entry]:
    """Returns the ledger entries that refund a charge: its exact opposite, and further ones if the charge took plan
    credits of a past month.

    Those credits have expired. The further entries carry them into the present month, so that a failure at the turn of
    a month costs the customer nothing.
    """
    mirror = msgspec.structs.replace(
        charged,
        kind="refund",
        plan=-charged.plan,
        referral=-charged.referral,
        bought=-charged.bought,
        spent=-charged.spent,
    )
    month = open_month(book, month)
    if charged.month >= month or mirror.plan == 0:
        return [mirror]
    lapse = Entry(
        kind="lapse",
        operation_id=charged.operation_id,
        month=charged.month,
        plan=-mirror.plan,
        lapsed=mirror.plan,
    )
    carry = Entry(
        kind="carry", operation_id=charged.operation_id, month=month, plan=mirror.plan, issued=-mirror.plan
    )
    return [*_lapse_of_old_month(book, month), mirror, lapse, carry]


def deposit(kind: str, operation_id: str, month: date, amount: int) -> Entry:
    """Returns the ledger entry that adds credits which do not expire: kind `purchase`, `auto_refill` or `referral`."""
    referral, bought = (amount, 0) if kind == "referral" else (0, amount)
    return Entry(
        kind=kind, operation_id=operation_id, month=month, issued=-amount, referral=referral, bought=bought
    )


def clawback(book: Book, operation_id: str, month: date, amount: int, cause: str) -> Entry:
    """Returns the ledger entry that takes bought credits back after a refund or dispute (`cause`).

    Credits that were spent already become a debt, so that no pool falls below zero. Plan and referral credits, which
    nobody paid for, are not touched.
    """
    bought = min(amount, book.bought)
    return Entry(
        kind="clawback", operation_id=operation_id, month=month, bought=-bought, owed=bought - amount, issued=amount,
        action=cause,
    )  # fmt: skip


def reinstatement(book: Book, operation_id: str, month: date, amount: int, cause: str) -> Entry:
    """Returns the ledger entry that gives clawed-back credits to the account again. They first reduce any debt."""
    owed = min(amount, book.owed)
    return Entry(
        kind="reinstatement", operation_id=operation_id, month=month, bought=amount - owed, owed=owed, issued=-amount,
        action=cause,
    )  # fmt: skip


def collection(book: Book, operation_id: str, month: date) -> Entry | None:
    """Returns the ledger entry that pays a debt from bought credits, after a purchase; None when the account owes
    nothing or has no bought credits.
    """
    amount = min(book.bought, book.owed)
    if amount == 0:
        return None
    return Entry(kind="collection", operation_id=operation_id, month=month, bought=-amount, owed=amount)
