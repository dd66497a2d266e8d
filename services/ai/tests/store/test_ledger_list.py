"""The list of the ledger's entries on a real database: its order, balances and pages, and who may read it."""

from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace
from sqlalchemy import text

from ai.credits.balances import charge, give, refund
from ai.credits.ledger_list import show_list
from ai.rules.prices import CreditSettings
from ai.store.ledger import CLOSE_AFTER
from chassis.cursor import encode_cursor
from chassis.db.database import Database
from contracts.ai import LedgerEntry, ListLedger
from contracts.caller import Caller
from contracts.errors import ApiError

SETTINGS = CreditSettings(
    billing_url="https://b.example", packs_url="https://p.example", auto_refill_url="https://r.example"
)
ANN = Caller(account_id="usr_1", user_id="usr_1", tier="elite")
BEN = Caller(account_id="usr_2", user_id="usr_2", tier="free")


def spend(database: Database, operation_id: str, *, action: str = "image", caller: Caller = ANN) -> None:
    with database.transaction() as connection:
        charge(
            connection, SETTINGS, caller, operation_id=operation_id, job_id=f"job_{operation_id}", credits=1,
            action=action,
        )  # fmt: skip


def context(database: Database) -> Any:
    return SimpleNamespace(database=database)


def listed(database: Database, caller: Caller = ANN, limit: int = 100) -> list[LedgerEntry]:
    """Returns all entries, from as many pages as there are."""
    found: list[LedgerEntry] = []
    cursor = None
    while True:
        page = show_list(context(database), caller, ListLedger(limit=limit, cursor=cursor))
        found += page.entries
        cursor = page.next_cursor
        if cursor is None:
            return found


def test_entries_are_listed_newest_first_with_what_they_were_for(database: Database) -> None:
    spend(database, "op_1")
    spend(database, "op_2", action="caption")
    with database.transaction() as connection:
        refund(connection, "op_1")
        give(connection, "usr_1", "purchase", "op_3", 500)
    rows = [(e.kind, e.amount, e.balance_after, e.action, e.job_id) for e in listed(database)]
    assert rows == [
        ("purchase", 500, 2_899, None, None),
        ("refund", 1, 2_399, "image", "job_op_1"),
        ("charge", -1, 2_398, "caption", None),
        ("charge", -1, 2_399, "image", "job_op_1"),
        ("grant", 2_400, 2_400, None, None),
    ]


def test_a_caller_sees_only_the_entries_of_the_own_account(database: Database) -> None:
    spend(database, "op_1")
    spend(database, "op_2", caller=BEN)
    spend(database, "op_3")
    assert [entry.balance_after for entry in listed(database, BEN)] == [29, 30]
    first = show_list(context(database), ANN, ListLedger(limit=1))
    foreign = show_list(context(database), BEN, ListLedger(cursor=first.next_cursor))
    assert {entry.job_id for entry in foreign.entries} == {"job_op_2", None}
    assert listed(database, replace(ANN, account_id="usr_3")) == []


@pytest.mark.parametrize("limit", [7, 100])
def test_balances_stay_right_across_pages_and_closings(database: Database, limit: int) -> None:
    with database.transaction() as connection:
        for number in range(CLOSE_AFTER + 20):
            give(connection, "usr_1", "purchase", f"op_{number}", number + 1)
    with database.reading() as connection:
        assert connection.execute(text("SELECT count(*) FROM closings")).scalar_one() > 0
    found = listed(database, limit=limit)[::-1]
    assert [entry.amount for entry in found] == list(range(1, CLOSE_AFTER + 21))
    balance = 0
    for entry in found:
        balance += entry.amount
        assert entry.balance_after == balance


def test_a_token_that_is_limited_to_brands_may_not_read_the_ledger(database: Database) -> None:
    spend(database, "op_1")
    for brand_ids in ((), ("brd_1",)):
        with pytest.raises(ApiError) as refusal:
            show_list(context(database), replace(ANN, brand_ids=brand_ids), ListLedger())
        assert refusal.value.row.code == "BRAND_NOT_AUTHORIZED"


@pytest.mark.parametrize(
    "cursor",
    ["x", "", encode_cursor("-1"), encode_cursor("9" * 19), encode_cursor("1", "2"), encode_cursor("²")],
)
def test_a_cursor_of_another_list_is_refused(database: Database, cursor: str) -> None:
    with pytest.raises(ApiError) as refusal:
        show_list(context(database), ANN, ListLedger(cursor=cursor))
    assert refusal.value.row.code == "VALIDATION_ERROR"
