"""Rows that an older release writes, before an upgrade or while it runs beside the present release."""

import runpy
from typing import Any

import pytest
from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy import text

from ai.records import Refill
from ai.store.refills import AutoRefills, Refills
from chassis.db.database import Database
from chassis.migrate import migrations_of

OLDER_RELEASE_SAVES = """
WITH ledger AS (INSERT INTO ledgers (account_id) VALUES (:account_id))
INSERT INTO auto_refills (account_id, tier, enabled, threshold, credits, customer, payment_method)
VALUES (:account_id, 'free', true, 25, 1000, 'cus_1', 'pm_1')
"""
DECLINED = Refill(
    id="rfl_1", account_id="usr_1", credits=1_000, price_cents=1_800, customer="cus_1", payment_method="pm_1",
    state="failed", error="expired_card",
)  # fmt: skip


def test_auto_refill_saved_before_that_was_noted_counts_as_saved_with_the_upgrade(database: Database) -> None:
    """Declines before the upgrade then do not count against the saved card."""
    with database.transaction() as connection:
        connection.execute(text("ALTER TABLE auto_refills DROP COLUMN saved_at"))
        connection.execute(text(OLDER_RELEASE_SAVES), {"account_id": "usr_before"})
        upgrade(connection, "0006_saved")
        connection.execute(text(OLDER_RELEASE_SAVES), {"account_id": "usr_beside"})
        saved = "SELECT account_id FROM auto_refills WHERE saved_at >= date_trunc('milliseconds', now())"
        assert set(connection.execute(text(saved)).scalars()) == {"usr_before", "usr_beside"}


def upgrade(connection: Any, name: str) -> None:
    """Runs only this migration."""
    migration = runpy.run_path(str(migrations_of("ai") / f"{name}.py"))
    with Operations.context(MigrationContext.configure(connection)):
        migration["upgrade"]()


@pytest.mark.parametrize("saved_at", ["saved_at", "NULL"])
@pytest.mark.parametrize("column", ["customer", "payment_method"])
def test_declines_of_a_card_do_not_count_against_one_set_by_an_older_release(
    database: Database, column: str, saved_at: str
) -> None:
    with database.transaction() as connection:
        connection.execute(text(OLDER_RELEASE_SAVES), {"account_id": "usr_1"})
        Refills(connection).add(DECLINED)
        assert declines(connection) == ["rfl_1"]
        connection.execute(text(f"UPDATE auto_refills SET {column} = 'another', saved_at = {saved_at}"))
        assert declines(connection) == []


def declines(connection: Any) -> list[str]:
    """Returns the ids of refills that count as declines of the saved card."""
    wish = AutoRefills(connection).find("usr_1")
    assert wish is not None
    return [refill.id for refill in Refills(connection).since(wish, 5)]
