"""Rows stored before 1.4.0."""

from typing import Any

import pytest
from sqlalchemy import text

from ai.records import Refill
from ai.store.refills import AutoRefills, Refills
from chassis.db.database import Database

SAVED = """
WITH ledger AS (INSERT INTO ledgers (account_id) VALUES (:account_id))
INSERT INTO auto_refills (account_id, tier, enabled, threshold, credits, customer, payment_method)
VALUES (:account_id, 'free', true, 25, 1000, 'cus_1', 'pm_1')
"""
DECLINED = Refill(
    id="rfl_1", account_id="usr_1", credits=1_000, price_cents=1_800, customer="cus_1", payment_method="pm_1",
    state="failed", error="expired_card",
)  # fmt: skip


@pytest.mark.parametrize("saved_at", ["saved_at", "NULL"])
@pytest.mark.parametrize("column", ["customer", "payment_method"])
def test_declines_of_a_card_do_not_count_against_one_set_before_1_4_0(
    database: Database, column: str, saved_at: str
) -> None:
    with database.transaction() as connection:
        connection.execute(text(SAVED), {"account_id": "usr_1"})
        Refills(connection).add(DECLINED)
        assert declines(connection) == ["rfl_1"]
        connection.execute(text(f"UPDATE auto_refills SET {column} = 'another', saved_at = {saved_at}"))
        assert declines(connection) == []


def declines(connection: Any) -> list[str]:
    """Returns the ids of refills that count as declines of the saved card."""
    wish = AutoRefills(connection).find("usr_1")
    assert wish is not None
    return [refill.id for refill in Refills(connection).since(wish, 5)]
