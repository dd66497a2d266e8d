"""Charges, refunds and balances on a real database: races, ends of months, and constraints of the database."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest
from msgspec.structs import replace
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from ai.credits.balances import after_charge, balance, charge, grant, refund
from ai.rules.prices import CreditSettings
from ai.store.ledger import CLOSE_AFTER, Ledgers
from chassis.db.database import Database
from contracts.ai import Credits, CreditsAfterCharge, GrantCredits
from contracts.caller import Caller, operator
from contracts.errors import ApiError

SETTINGS = CreditSettings(
    billing_url="https://b.example", packs_url="https://p.example", auto_refill_url="https://r.example"
)
ANN = Caller(account_id="usr_1", user_id="usr_1", tier="free")
Set = Callable[[datetime], None]


def spend(
    database: Database, amount: int, operation_id: str = "op_1", caller: Caller = ANN
) -> CreditsAfterCharge:
    with database.transaction() as connection:
        return charge(
            connection, SETTINGS, caller, operation_id=operation_id, job_id="job_1", credits=amount, action="image"
        )  # fmt: skip


def give_back(database: Database, operation_id: str = "op_1") -> bool:
    with database.transaction() as connection:
        return refund(connection, operation_id)


def give(database: Database, amount: int, operation_id: str = "op_g", *, referral: bool = False) -> None:
    request = GrantCredits(account_id="usr_1", tier="free", amount=amount, referral=referral)
    with database.transaction() as connection:
        grant(connection, replace(operator(), operation_id=operation_id), request)


def now_has(database: Database, caller: Caller = ANN) -> Credits:
    with database.reading() as connection:
        return balance(connection, SETTINGS, caller).credits


def count(database: Database, what: str) -> int:
    with database.reading() as connection:
        return int(connection.execute(text(f"SELECT count(*) FROM {what}")).scalar_one())


def is_sound(database: Database) -> bool:
    with database.reading() as connection:
        return Ledgers(connection).wrong_count() == 0


def test_a_new_account_has_its_plans_credits_before_anything_is_written(database: Database) -> None:
    seen = now_has(database)
    assert (seen.available, seen.plan, seen.plan_allowance, seen.plan_used) == (30, "Free", 30, 0)
    assert count(database, "entries") == 0


def test_an_unverified_account_has_no_credits(database: Database) -> None:
    seen = now_has(database, replace(ANN, verified=False))
    assert (seen.available, seen.plan_allowance, seen.plan_remaining) == (0, 0, 0)


def test_a_charge_takes_plan_credits_then_referral_then_bought(database: Database) -> None:
    give(database, 20)
    give(database, 5, "op_r", referral=True)
    assert now_has(database).bonus == 25
    assert spend(database, 32) == CreditsAfterCharge(
        charged=32, remaining=23, plan_remaining=0, bonus=23, plan="Free"
    )
    seen = now_has(database)
    assert (seen.plan_used, seen.plan_remaining, seen.bonus, seen.referral) == (30, 0, 23, 3)


def test_too_little_is_refused_with_every_field_and_changes_nothing(database: Database) -> None:
    give(database, 5)
    with pytest.raises(ApiError) as refused:
        spend(database, 90)
    assert refused.value.code == "INSUFFICIENT_CREDITS"
    assert refused.value.extras == {
        "required": 90, "available": 35, "plan_remaining": 30, "bonus": 5, "billing_url": "https://b.example",
        "packs_url": "https://p.example", "auto_refill_url": "https://r.example",
    }  # fmt: skip
    assert now_has(database).available == 35
    assert count(database, "entries WHERE kind = 'charge'") == 0


def test_an_operation_is_charged_once_and_answers_the_same(database: Database) -> None:
    assert spend(database, 10) == spend(database, 10) == spend(database, 10)
    assert now_has(database).available == 20


def test_a_charge_is_refunded_once_and_then_its_operation_has_failed(database: Database) -> None:
    spend(database, 10)
    assert [give_back(database) for _ in range(3)] == [True, False, False]
    assert now_has(database).available == 30
    with pytest.raises(ApiError, match="AI_GENERATION_FAILED"):
        spend(database, 10)
    assert now_has(database).available == 30


def test_an_operation_without_a_charge_is_not_refunded(database: Database) -> None:
    assert give_back(database, "op_x") is False


def test_a_charge_is_one_transaction_with_what_it_pays_for(database: Database) -> None:
    with pytest.raises(RuntimeError), database.transaction() as connection:
        charge(
            connection, SETTINGS, ANN, operation_id="op_1", job_id=None, credits=10, action="image"
        )  # fmt: skip
        raise RuntimeError
    assert now_has(database).available == 30
    assert give_back(database) is False


def test_two_hundred_charges_at_once_with_credit_for_fifty_make_fifty(database: Database) -> None:
    give(database, 470)  # and the plan's 30

    def one(number: int) -> str:
        try:
            spend(database, 10, f"op_{number}")
            return "charged"
        except ApiError as error:
            return error.code

    with ThreadPoolExecutor(20) as pool:
        outcomes = list(pool.map(one, range(200)))
    assert (outcomes.count("charged"), outcomes.count("INSUFFICIENT_CREDITS")) == (50, 150)
    assert now_has(database).available == 0
    assert count(database, "entries WHERE kind = 'charge'") == 50
    assert is_sound(database)


def test_one_operation_sent_twenty_times_at_once_is_charged_once(database: Database) -> None:
    with ThreadPoolExecutor(20) as pool:
        assert {spent.charged for spent in pool.map(lambda _: spend(database, 10), range(20))} == {10}
        assert sum(pool.map(lambda _: give_back(database), range(20))) == 1
    assert now_has(database).available == 30


def test_unspent_plan_credits_lapse_on_the_first_and_bonus_stays(database: Database, at: Set) -> None:
    at(datetime(2026, 10, 31, 23, 59, 30, tzinfo=UTC))
    give(database, 7)
    spend(database, 10)
    assert now_has(database).next_reset_at == datetime(2026, 11, 1, tzinfo=UTC)
    at(datetime(2026, 11, 1, 0, 0, 5, tzinfo=UTC))
    seen = now_has(database)
    assert (seen.plan_remaining, seen.plan_used, seen.bonus) == (30, 0, 7)
    spend(database, 1, "op_2")
    assert count(database, "entries WHERE kind = 'lapse' AND plan = -20 AND month = '2026-10-01'") == 1
    assert count(database, "entries WHERE kind = 'grant'") == 2
    assert is_sound(database)


def test_an_upgrade_brings_the_difference_and_a_downgrade_keeps_the_month(database: Database) -> None:
    spend(database, 10)
    pro = replace(ANN, tier="pro")
    assert spend(database, 10, "op_2", pro).plan_remaining == 1_280
    seen = now_has(database)
    assert (seen.plan, seen.plan_allowance, seen.plan_used, seen.plan_remaining) == ("Free", 1_300, 20, 1_280)
    assert spend(database, 1, "op_3", pro).plan_remaining == 1_279
    assert count(database, "entries WHERE kind = 'grant'") == 2


def test_a_refund_after_the_month_end_can_still_be_spent(database: Database, at: Set) -> None:
    at(datetime(2026, 10, 31, 23, 59, 30, tzinfo=UTC))
    give(database, 5)
    spend(database, 32)
    at(datetime(2026, 11, 1, 0, 10, tzinfo=UTC))
    give_back(database)
    seen = now_has(database)
    assert (seen.plan_remaining, seen.plan_allowance, seen.plan_used, seen.bonus) == (60, 60, 0, 5)
    at(datetime(2026, 12, 1, 0, 10, tzinfo=UTC))
    assert now_has(database).plan_remaining == 30
    spend(database, 1, "op_2")
    assert is_sound(database)


def test_the_operators_grant_is_given_once_per_operation_and_by_nobody_else(database: Database) -> None:
    for _ in range(3):
        give(database, 500)
    assert now_has(database).bonus == 500
    for caller in (ANN, replace(ANN, scopes=("*",))):
        with pytest.raises(ApiError, match="MISSING_SCOPE"), database.transaction() as connection:
            grant(connection, caller, GrantCredits(account_id="usr_1", tier="free", amount=1))


def test_the_present_balance_is_shown_beside_a_jobs_charge(database: Database) -> None:
    spend(database, 10)
    with database.reading() as connection:
        assert after_charge(connection, "usr_1", "free", 0) == CreditsAfterCharge(
            charged=0, remaining=20, plan_remaining=20, bonus=0, plan="Free"
        )


def refuses(database: Database, statement: str, because: str) -> bool:
    with pytest.raises(DBAPIError, match=because), database.transaction() as connection:
        connection.execute(text(statement))
    return is_sound(database)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET spent = 0",
        "DELETE FROM entries",
        "TRUNCATE entries CASCADE",
        "DELETE FROM closings",
    ],
)
def test_the_database_refuses_changes_of_entries(database: Database, statement: str) -> None:
    spend(database, 10)
    assert refuses(database, statement, "append-only")


@pytest.mark.parametrize(
    ("because", "account_id", "kind", "operation_id", "month", "legs"),
    [
        ("debits_equal_credits", "usr_1", "purchase", "x", "2026-10-01", {"bought": 5}),
        ("legs_of_kind", "usr_1", "charge", "x", "2026-10-01", {"spent": 5, "issued": -5}),
        ("legs_of_kind", "usr_1", "refund", "x", "2026-10-01", {"spent": 5, "plan": -5}),
        ("legs_of_kind", "usr_1", "wish", "x", "2026-10-01", {"bought": 5, "issued": -5}),
        ("month_check", "usr_1", "purchase", "x", "2026-10-02", {"bought": 5, "issued": -5}),
        ("entries_once", "usr_1", "charge", "op_1", "2026-10-01", {"spent": 5, "plan": -5}),
        ("account_id_fkey", "usr_2", "purchase", "x", "2026-10-01", {"bought": 5, "issued": -5}),
    ],
)
def test_the_database_refuses_invalid_entries(
    database: Database,
    because: str,
    account_id: str,
    kind: str,
    operation_id: str,
    month: str,
    legs: dict[str, int],
) -> None:
    spend(database, 10)
    names, values = ", ".join(legs), ", ".join(map(str, legs.values()))
    assert refuses(
        database,
        f"INSERT INTO entries (account_id, kind, operation_id, month, {names}) "
        f"VALUES ('{account_id}', '{kind}', '{operation_id}', '{month}', {values})",
        because,
    )


def test_a_long_ledger_is_closed_and_keeps_its_balance(database: Database) -> None:
    give(database, 10_000)
    for number in range(CLOSE_AFTER + 20):
        spend(database, 1, f"op_{number}")
    assert count(database, "closings") == 1
    with database.reading() as connection:
        assert Ledgers(connection).read("usr_1").unclosed_count < 25
    assert now_has(database).available == 10_030 - CLOSE_AFTER - 20
    assert is_sound(database)


def test_a_closing_equals_the_sum_of_entries_whatever_is_written(database: Database) -> None:
    give(database, 500)
    with database.transaction() as connection:
        connection.execute(
            text(
                "INSERT INTO closings SELECT 'usr_1', max(id), 9, 9, 9999 FROM entries WHERE account_id = 'usr_1'"
            )
        )
    assert now_has(database).bonus == 500
    assert is_sound(database)
