"""The ledger entries that a new month, a charge and a refund make."""

from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai.rules import ledger
from ai.rules.ledger import Book, Entry

OCTOBER, NOVEMBER = date(2026, 10, 1), date(2026, 11, 1)
EMPTY = Book(account_id="usr_1")


def legs(entry: Entry) -> tuple[int, ...]:
    return (entry.plan, entry.referral, entry.bought, entry.owed, entry.issued, entry.lapsed, entry.spent)


def charged(book: Book, amount: int, month: date = OCTOBER) -> Entry:
    entry = ledger.charge(book, "op_1", month, amount, action="image", job_id="job_1")
    assert entry is not None
    return entry


def test_a_month_begins_with_its_grant_once() -> None:
    (grant,) = ledger.due(EMPTY, OCTOBER, 30)
    assert (grant.kind, grant.plan, grant.issued) == ("grant", 30, -30)
    assert ledger.due(EMPTY.with_entries([grant]), OCTOBER, 30) == []


def test_what_is_left_of_a_month_lapses_before_the_next_is_granted() -> None:
    book = EMPTY.with_entries(ledger.due(EMPTY, OCTOBER, 30))
    book = book.with_entries([charged(book, 12)])
    lapse, grant = ledger.due(book, NOVEMBER, 30)
    assert (lapse.kind, lapse.month, lapse.plan, lapse.lapsed) == ("lapse", OCTOBER, -18, 18)
    assert (grant.kind, grant.month, grant.plan) == ("grant", NOVEMBER, 30)


def test_a_month_that_was_used_up_has_nothing_to_lapse() -> None:
    book = EMPTY.with_entries(ledger.due(EMPTY, OCTOBER, 30))
    book = book.with_entries([charged(book, 30)])
    assert [entry.kind for entry in ledger.due(book, NOVEMBER, 30)] == ["grant"]


def test_a_better_plan_brings_the_difference_and_a_smaller_one_takes_nothing() -> None:
    book = EMPTY.with_entries(ledger.due(EMPTY, OCTOBER, 100))
    (more,) = ledger.due(book, OCTOBER, 1_300)
    assert more.plan == 1_200
    book = book.with_entries([more])
    assert ledger.due(book, OCTOBER, 100) == []
    assert ledger.due(book, OCTOBER, 1_300) == []
    assert ledger.due(book, OCTOBER, 2_400)[0].operation_id != more.operation_id


def test_a_clock_set_back_opens_no_old_month() -> None:
    book = EMPTY.with_entries(ledger.due(EMPTY, NOVEMBER, 30))
    assert ledger.due(book, OCTOBER, 30) == []
    assert charged(book, 5, month=OCTOBER).month == NOVEMBER


@pytest.mark.parametrize(
    ("amount", "taken"),
    [
        (10, (10, 0, 0)),
        (30, (30, 0, 0)),
        (32, (30, 2, 0)),
        (35, (30, 5, 0)),
        (40, (30, 5, 5)),
        (55, (30, 5, 20)),
    ],
)
def test_plan_credits_go_first_then_referral_then_bought(amount: int, taken: tuple[int, int, int]) -> None:
    entry = charged(Book(account_id="usr_1", plan=30, referral=5, bought=20), amount)
    assert (-entry.plan, -entry.referral, -entry.bought) == taken
    assert entry.spent == amount


def test_an_amount_over_the_balance_is_not_charged() -> None:
    book = Book(account_id="usr_1", plan=30, referral=5, bought=20)
    assert ledger.charge(book, "op_1", OCTOBER, 56, action="image", job_id=None) is None


def test_a_refund_is_the_charges_mirror_down_to_the_pools() -> None:
    book = Book(account_id="usr_1", plan=6, referral=3, bought=9, month=OCTOBER, granted=30)
    entry = charged(book, 10)
    (refund,) = ledger.refund(book.with_entries([entry]), entry, OCTOBER)
    assert legs(refund) == tuple(-leg for leg in legs(entry))
    assert (refund.kind, refund.operation_id, refund.job_id) == ("refund", "op_1", "job_1")


def test_plan_credits_refunded_after_their_month_are_carried_into_the_present_one() -> None:
    book = Book(account_id="usr_1", plan=30, month=OCTOBER, granted=30)
    entry = charged(book, 10)
    entries = ledger.refund(book.with_entries([entry]), entry, NOVEMBER)
    assert [each.kind for each in entries] == ["lapse", "refund", "lapse", "carry"]
    after = book.with_entries([entry, *entries])
    assert (after.plan, after.month, after.allowance) == (10, NOVEMBER, 10)
    settled = after.with_entries(ledger.due(after, NOVEMBER, 30))
    assert (settled.plan, settled.allowance) == (40, 40)


def test_bought_credits_refunded_after_their_month_are_just_returned() -> None:
    book = Book(account_id="usr_1", bought=10)
    entry = charged(book, 10)
    assert [each.kind for each in ledger.refund(book, entry, NOVEMBER)] == ["refund"]


def test_referral_credits_are_bonus_and_so_are_bought_ones() -> None:
    book = EMPTY.with_entries(
        [ledger.deposit("referral", "a", OCTOBER, 5), ledger.deposit("purchase", "b", OCTOBER, 500)]
    )
    assert (book.bonus, book.referral, book.bought) == (505, 5, 500)


def test_a_month_ends_with_the_first_moment_of_the_next() -> None:
    assert ledger.ends_at(NOVEMBER) == datetime(2026, 12, 1, tzinfo=UTC)
    assert ledger.ends_at(date(2026, 12, 1)) == datetime(2027, 1, 1, tzinfo=UTC)


pools = st.integers(0, 5_000)


@given(plan=pools, referral=pools, bought=pools, amount=st.integers(1, 15_000), months=st.integers(0, 2))
def test_the_legs_of_every_entry_add_up_to_zero(
    plan: int, referral: int, bought: int, amount: int, months: int
) -> None:
    book = Book(account_id="usr_1", plan=plan, referral=referral, bought=bought, month=OCTOBER, granted=plan)
    later = date(2026, 10 + months, 1)
    entries = ledger.due(book, later, 2_400)
    entry = ledger.charge(book, "op_1", OCTOBER, amount, action="image", job_id=None)
    if entry is not None:
        entries += [entry, *ledger.refund(book.with_entries([entry]), entry, later)]
    assert all(sum(legs(each)) == 0 for each in entries)
    assert all(any(legs(each)) for each in entries)


@given(bought=pools, owed=pools, gone=st.integers(1, 15_000))
def test_a_clawback_and_its_reinstatement_leave_the_book_as_it_was(bought: int, owed: int, gone: int) -> None:
    book = Book(account_id="usr_1", bought=bought, owed=owed)
    taken = ledger.clawback(book, "pi_1:1", OCTOBER, gone, "dispute")
    between = book.with_entries([taken])
    assert (between.bought, between.owed) == (max(bought - gone, 0), owed + max(gone - bought, 0))
    returned = ledger.reinstatement(between, "pi_1:2", OCTOBER, gone, "dispute")
    after = between.with_entries([returned])
    assert after.bought - after.owed == book.bought - book.owed
    assert after.bought >= 0 <= after.owed
    assert sum(legs(taken)) == sum(legs(returned)) == 0


@given(bought=pools, owed=pools)
def test_a_debt_is_collected_from_bought_credits(bought: int, owed: int) -> None:
    book = Book(account_id="usr_1", bought=bought, owed=owed)
    entry = ledger.collection(book, "purchase:cs_1", OCTOBER)
    assert (entry is None) == (min(bought, owed) == 0)
    after = book if entry is None else book.with_entries([entry])
    assert after.bought - after.owed == bought - owed
    assert min(after.bought, after.owed) == 0
