"""Auto-refill on a real database, with a provider that may die, not answer, or answer twice."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from ai_kit.payment_provider import FakePaymentProvider
from msgspec.structs import replace
from sqlalchemy import text

from ai.credits import payment_notifications
from ai.credits.auto_refill import run_refills, set_auto_refill
from ai.credits.balances import balance, charge
from ai.jobs import lifecycle
from ai.payments.base import PackSale
from ai.payments.manual import Manual
from ai.rules.prices import CreditSettings
from chassis import telemetry
from chassis.db.database import Database
from chassis.telemetry import tracing
from contracts.ai import AutoRefill, PaymentHook, SetAutoRefill
from contracts.caller import Caller, operator
from contracts.errors import ApiError
from testkit.collector import Collector

SETTINGS = CreditSettings(payment_provider="stripe")
ANN = Caller(account_id="usr_1", user_id="usr_1", tier="free")
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
WISH = SetAutoRefill(
    account_id="usr_1", tier="free", enabled=True, threshold=25, amount=1_000, payment_customer="cus_1",
    payment_method="pm_1",
)  # fmt: skip
Set = Callable[[datetime], None]
#: A client's traceparent, which is recorded.
CAUSE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


@pytest.fixture
def till() -> FakePaymentProvider:
    return FakePaymentProvider()


@pytest.fixture
def wished(database: Database, at: Set) -> None:
    at(NOON)
    wish(database)


def wish(database: Database, **changes: Any) -> None:
    set_auto_refill(database, operator(), replace(WISH, **changes))


def spend(database: Database, amount: int, operation_id: str) -> None:
    with database.transaction() as connection:
        charge(
            connection, SETTINGS, ANN, operation_id=operation_id, job_id=None, credits=amount, action="image"
        )  # fmt: skip


def begin(database: Database, kind: str) -> None:
    """Begins a job, as every call does that spends credits."""
    context: Any = SimpleNamespace(database=database, settings=SimpleNamespace(credits=SETTINGS))
    lifecycle.begin(context, ANN, kind, lease_seconds=0, prompt="A boat", brief="A boat")


def run(database: Database, till: FakePaymentProvider) -> None:
    """Ticks until nothing is left to do; claims lapse at once."""
    with database.transaction() as connection:
        connection.execute(text("UPDATE refills SET look_at = clock_timestamp() WHERE state = 'open'"))
    for _ in range(5):
        if run_refills(database, SETTINGS, till) == 0:
            return
    raise AssertionError("it never comes to rest")


def order(database: Database, till: FakePaymentProvider, mood: str) -> None:
    """Spends credits, and runs the refill that follows against a provider in this mood."""
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


@pytest.mark.usefixtures("wished")
def test_a_charge_that_leaves_too_little_is_followed_by_a_refill(
    database: Database, till: FakePaymentProvider
) -> None:
    run(database, till)
    spend(database, 5, "op_1")
    run(database, till)
    assert bonus(database) == 0  # 25 are not below 25
    spend(database, 1, "op_2")
    run(database, till)
    assert bonus(database) == 1_000
    assert [order.price_cents for order in till.orders.values()] == [1_800]
    assert shown(database).status == "active"


@pytest.mark.usefixtures("wished")
def test_an_order_with_a_lost_answer_is_sent_again_unchanged(
    database: Database, till: FakePaymentProvider
) -> None:
    till.mood = "silent"  # it takes the money and does not answer
    spend(database, 10, "op_1")
    run(database, till)
    assert (bonus(database), shown(database).status) == (0, "pending")
    till.mood = "paid"
    run(database, till)
    assert (bonus(database), len(till.orders)) == (1_000, 1)


@pytest.mark.usefixtures("wished")
def test_a_day_old_order_is_searched_for_and_never_sent_again(
    database: Database, at: Set, till: FakePaymentProvider
) -> None:
    order(database, till, "silent")
    at(NOON + timedelta(hours=23, minutes=1))
    till.mood = "paid"
    till.pay = None  # a call fails the test
    run(database, till)
    assert bonus(database) == 1_000


@pytest.mark.usefixtures("wished")
@pytest.mark.parametrize("taken", [True, False])
def test_an_order_with_a_replayed_failure_is_searched_for(
    database: Database, at: Set, till: FakePaymentProvider, taken: bool
) -> None:
    order(database, till, "silent" if taken else "unheard")
    till.mood = "stuck"
    run(database, till)
    assert (bonus(database), shown(database).status) == ((1_000, "active") if taken else (0, "pending"))
    at(NOON + timedelta(minutes=59))
    run(database, till)
    assert shown(database).status == ("active" if taken else "pending")
    at(NOON + timedelta(minutes=61))
    run(database, till)
    assert shown(database).status == ("active" if taken else "payment_failed")
    till.mood = "paid"
    spend(database, 1, "op_2")
    run(database, till)
    assert bonus(database) == 1_000


@pytest.mark.usefixtures("wished")
def test_an_order_that_never_arrived_fails_after_a_day(
    database: Database, at: Set, till: FakePaymentProvider
) -> None:
    order(database, till, "unheard")
    at(NOON + timedelta(hours=23, minutes=1))
    run(database, till)
    assert (bonus(database), shown(database).status) == (0, "payment_failed")


@pytest.mark.usefixtures("wished")
@pytest.mark.parametrize("taken", [True, False])
@pytest.mark.parametrize(
    "change", [{"enabled": False}, {"payment_method": "pm_2"}, {"payment_customer": "cus_2"}, {"amount": 500}]
)
def test_an_order_no_longer_wanted_is_searched_for_and_not_sent_again(
    database: Database, at: Set, till: FakePaymentProvider, change: dict[str, Any], taken: bool
) -> None:
    order(database, till, "silent" if taken else "unheard")
    wish(database, **change)
    till.mood, till.pay = "paid", None  # a call fails the test
    for minutes in (1, 59, 61):
        at(NOON + timedelta(minutes=minutes))
        run(database, till)
        assert bonus(database) == (1_000 if taken else 0)
    with database.reading() as connection:
        states = connection.execute(text("SELECT state FROM refills")).scalars().all()
    assert states == ["paid" if taken else "failed"]


@pytest.mark.usefixtures("wished")
@pytest.mark.parametrize("last", [timedelta(minutes=70), timedelta(hours=22, minutes=50)])
def test_an_order_that_arrived_late_does_not_fail_before_it_can_be_found(
    database: Database, at: Set, till: FakePaymentProvider, last: timedelta
) -> None:
    order(database, till, "unheard")
    at(NOON + last)
    till.mood = "silent"
    run(database, till)
    wish(database, payment_method="pm_2")
    at(NOON + last + timedelta(minutes=15))
    till.mood, find, till.find = "paid", till.find, lambda order_id: None  # the search is behind
    run(database, till)
    till.find = find
    run(database, till)
    assert (bonus(database), len(till.orders)) == (1_000, 1)


@pytest.mark.usefixtures("wished")
def test_credits_are_given_once_whatever_arrives_twice(database: Database, till: FakePaymentProvider) -> None:
    order(database, till, "silent")
    (order_id,) = till.orders
    tell(database, order_id, till)
    assert bonus(database) == 1_000
    tell(database, order_id, till)
    till.mood = "paid"
    run(database, till)
    assert bonus(database) == 1_000


@pytest.mark.usefixtures("wished")
def test_a_pending_payment_is_looked_up_until_it_is_decided(
    database: Database, at: Set, till: FakePaymentProvider
) -> None:
    order(database, till, "pending")
    at(NOON + timedelta(days=3))
    run(database, till)
    assert (bonus(database), shown(database).status) == (0, "pending")
    (order_id,) = till.states
    till.states[order_id] = type(till.states[order_id]).PAID
    run(database, till)
    assert bonus(database) == 1_000


@pytest.mark.usefixtures("wished")
def test_a_declined_card_is_shown_and_tried_again_after_the_next_charge(
    database: Database, at: Set, till: FakePaymentProvider
) -> None:
    order(database, till, "failed")
    assert (bonus(database), shown(database).status) == (0, "payment_failed")
    at(NOON + timedelta(minutes=30))
    run(database, till)
    assert len(till.orders) == 1
    till.mood = "paid"
    spend(database, 10, "op_2")
    run(database, till)
    assert (bonus(database), shown(database).status) == (1_000, "active")


@pytest.mark.usefixtures("wished")
def test_a_declined_card_is_tried_again_after_a_refused_call(
    database: Database, at: Set, till: FakePaymentProvider
) -> None:
    till.mood = "failed"
    spend(database, 30, "op_1")
    run(database, till)
    at(NOON + timedelta(minutes=30))
    till.mood = "paid"
    with pytest.raises(ApiError, match="INSUFFICIENT_CREDITS"):
        begin(database, "caption")
    run(database, till)
    assert (bonus(database), shown(database).status) == (1_000, "active")


@pytest.mark.usefixtures("wished")
def test_a_card_is_not_charged_after_repeated_declines_until_auto_refill_is_saved(
    database: Database, at: Set, till: FakePaymentProvider
) -> None:
    till.mood = "failed"
    spend(database, 30, "op_1")
    for halves in range(8):
        at(NOON + timedelta(days=halves / 2))
        with pytest.raises(ApiError, match="INSUFFICIENT_CREDITS"):
            begin(database, "caption")
        run(database, till)
    assert (len(till.orders), shown(database).status) == (5, "payment_failed")
    wish(database)
    till.mood = "paid"
    run(database, till)
    assert (len(till.orders), shown(database).status) == (6, "active")


@pytest.mark.usefixtures("wished")
def test_a_refused_call_above_the_threshold_starts_no_refill(
    database: Database, till: FakePaymentProvider
) -> None:
    run(database, till)
    with pytest.raises(ApiError, match="INSUFFICIENT_CREDITS"):
        begin(database, "video")
    run(database, till)
    assert till.orders == {}


@pytest.mark.usefixtures("wished")
def test_a_payment_that_succeeds_after_its_failure_is_credited(
    database: Database, till: FakePaymentProvider
) -> None:
    order(database, till, "failed")
    (order_id,) = till.states
    till.states[order_id] = type(till.states[order_id]).PAID
    tell(database, order_id, till)
    assert (bonus(database), shown(database).status) == (1_000, "active")


@pytest.mark.usefixtures("wished")
def test_a_payment_of_another_amount_gives_nothing(database: Database, till: FakePaymentProvider) -> None:
    order(database, till, "silent")
    (order_id,) = till.orders
    till.orders[order_id] = type(till.orders[order_id])(order_id, "usr_1", 5, "cus_1", "pm_1")
    tell(database, order_id, till)
    assert (bonus(database), shown(database).status) == (0, "payment_failed")


def test_at_most_one_refill_in_ten_minutes_and_five_a_day(
    database: Database, at: Set, till: FakePaymentProvider
) -> None:
    at(NOON)
    wish(database, threshold=1_000_000)
    made = {}
    for minutes in (0, 1, 9, 10, 15, 20, 30, 40, 50, 300, 12 * 60, 12 * 60 + 5, 12 * 60 + 11):
        at(NOON + timedelta(minutes=minutes, seconds=1 + minutes / 10))
        run(database, till)
        made[minutes] = len(till.orders)
    assert made == {
        0: 1, 1: 1, 9: 1, 10: 2, 15: 2, 20: 3, 30: 4, 40: 5, 50: 5, 300: 5, 720: 6, 725: 6, 731: 7,
    }  # fmt: skip


def test_without_auto_refill_or_a_payment_method_no_payment_is_requested(
    database: Database, at: Set, till: FakePaymentProvider
) -> None:
    at(NOON)
    wish(database, payment_method=None)
    spend(database, 10, "op_1")
    run(database, till)
    assert shown(database).status == "no_payment_method"
    wish(database)
    wish(database, enabled=False, threshold=None, amount=None)
    spend(database, 1, "op_2")
    run(database, till)
    seen = shown(database)
    assert (seen.status, seen.enabled, seen.threshold, seen.amount) == ("off", False, 25, 1_000)
    assert till.orders == {}


@pytest.mark.usefixtures("wished")
def test_a_repeated_setting_does_not_undo_a_later_one(database: Database) -> None:
    on, off = (replace(operator(), operation_id=f"op_{number}") for number in range(2))
    for caller, request in ((on, WISH), (off, replace(WISH, enabled=False)), (on, WISH)):
        set_auto_refill(database, caller, request)
    assert shown(database).enabled is False


def test_without_a_provider_no_payment_is_requested_and_no_call_accepted(database: Database) -> None:
    spend(database, 10, "op_1")
    assert run_refills(database, CreditSettings(), Manual()) == 0
    for provider in ("manual", "stripe"):
        with pytest.raises(ApiError, match="VALIDATION_ERROR"):
            hook = PaymentHook(provider=provider, body="{}", signature="t=1,v1=0")
            payment_notifications.receive(database, CreditSettings(), Manual(), hook)


@pytest.mark.parametrize(
    ("changes", "caller"),
    [
        ({"amount": 750}, operator()),
        ({"amount": None}, operator()),
        ({"threshold": None}, operator()),
        ({"tier": "gold"}, operator()),
        ({}, ANN),
        ({}, replace(ANN, scopes=("*",))),
    ],
)
def test_invalid_settings_and_callers_other_than_the_operator_are_refused(
    database: Database, changes: dict[str, Any], caller: Caller
) -> None:
    with pytest.raises(ApiError):
        set_auto_refill(database, caller, replace(WISH, **changes))
    assert shown(database).enabled is False


def test_a_pack_that_was_bought_is_credited_once(database: Database, till: FakePaymentProvider) -> None:
    settings = CreditSettings(payment_provider="stripe", pack_links={1_500: "https://buy.example"})
    hook = PaymentHook(provider="stripe", body="", signature="")
    for size in (1_500, 1_500, 700):
        till.read_hook = lambda *_, size=size: PackSale(f"cs_{size}", "usr_1", size)
        payment_notifications.receive(database, settings, till, hook)
    assert bonus(database) == 1_500


@pytest.mark.usefixtures("wished")
def test_a_payment_continues_the_trace_of_the_charge_that_caused_it(
    database: Database, till: FakePaymentProvider, recording: Collector
) -> None:
    run(database, till)
    with tracing.request("POST", "/api/v1/ai/images", CAUSE, "req_1"):
        spend(database, 10, "op_1")
    run(database, till)
    telemetry.stop()
    [request] = recording.spans(kind="server")
    [refill] = recording.spans(name="refill")
    assert (refill.trace_id, refill.parent_id) == (request.trace_id, request.span_id)
