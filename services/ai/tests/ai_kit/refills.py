"""Actions and checks for tests of the auto-refill of one account on a real database."""

from collections.abc import Callable
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

from msgspec.structs import replace
from sqlalchemy import text

from ai.credits import payment_notifications
from ai.credits.auto_refill import run_refills, set_auto_refill
from ai.credits.balances import balance, charge
from ai.jobs import lifecycle
from ai.rules.prices import CreditSettings
from ai_kit.payment_provider import FakePaymentProvider
from chassis.db.database import Database
from contracts.ai import AutoRefill, PaymentHook, SetAutoRefill
from contracts.caller import Caller, operator

SETTINGS = CreditSettings(payment_provider="stripe")


ANN = Caller(account_id="usr_1", user_id="usr_1", tier="free")


NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


WISH = SetAutoRefill(
    account_id="usr_1", tier="free", enabled=True, threshold=25, amount=1_000, payment_customer="cus_1",
    payment_method="pm_1",
)  # fmt: skip


Set = Callable[[datetime], None]


def wish(database: Database, **changes: Any) -> None:
    set_auto_refill(database, operator(), replace(WISH, **changes))


def spend(database: Database, amount: int, operation_id: str) -> None:
    with database.transaction() as connection:
        charge(
            connection, SETTINGS, ANN, operation_id=operation_id, job_id=None, credits=amount, action="image"
        )  # fmt: skip


def begin(database: Database, kind: str) -> None:
    """Begins a job, as every call that spends credits does."""
    context: Any = SimpleNamespace(database=database, settings=SimpleNamespace(credits=SETTINGS))
    lifecycle.begin(context, ANN, kind, lease_seconds=0, prompt="A boat", brief="A boat")


def run(database: Database, till: FakePaymentProvider) -> None:
    """Runs the worker loop for refills until it has nothing left to do. Claims end at once."""
    with database.transaction() as connection:
        connection.execute(text("UPDATE refills SET look_at = clock_timestamp() WHERE state = 'open'"))
    for _ in range(5):
        if run_refills(database, SETTINGS, till) == 0:
            return
    raise AssertionError("it never comes to rest")


def order(database: Database, till: FakePaymentProvider, mood: str) -> None:
    """Spends credits, and runs the refill that this causes while the provider has this `mood`."""
    till.mood = mood
    spend(database, 10, "op_1")
    run(database, till)


def tell(database: Database, order_id: str, till: FakePaymentProvider) -> None:
    payment_notifications.receive(
        database, SETTINGS, till, PaymentHook(provider="stripe", body=order_id, signature="")
    )


def bonus(database: Database) -> int:
    with database.reading() as connection:
        return balance(connection, SETTINGS, ANN).credits.bonus


def shown(database: Database) -> AutoRefill:
    with database.reading() as connection:
        return balance(connection, SETTINGS, ANN).auto_refill
