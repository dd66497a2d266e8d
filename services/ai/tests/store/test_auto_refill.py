"""Auto-refill on a real database: when it requests a payment, and what the account is shown."""

from datetime import timedelta
from typing import Any

import pytest
from ai_kit.payment_provider import FakePaymentProvider
from ai_kit.refills import ANN, NOON, WISH, Set, begin, bonus, order, run, shown, spend, wish
from msgspec.structs import replace

from ai.credits import payment_notifications
from ai.credits.auto_refill import edit_auto_refill, run_refills, set_auto_refill
from ai.payments.base import PackSale
from ai.payments.manual import Manual
from ai.rules.prices import CreditSettings
from chassis import telemetry
from chassis.db.database import Database
from chassis.telemetry import tracing
from contracts.ai import EditAutoRefill, PaymentHook
from contracts.caller import Caller, operator
from contracts.errors import ApiError
from testkit.collector import Collector

#: A client's traceparent, which is recorded.
CAUSE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


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


def test_the_owner_changes_auto_refill_and_keeps_the_card_that_the_operator_set(database: Database) -> None:
    wish(database, enabled=False)
    edit_auto_refill(database, ANN, EditAutoRefill(enabled=True, threshold=40, amount=500))
    seen = shown(database)
    assert (seen.status, seen.threshold, seen.amount) == ("active", 40, 500)
    edit_auto_refill(database, ANN, EditAutoRefill(enabled=False))
    seen = shown(database)
    assert (seen.status, seen.threshold, seen.amount) == ("off", 40, 500)


@pytest.mark.parametrize(
    ("caller", "request_", "code"),
    [
        (replace(ANN, brand_ids=("brd_1",)), EditAutoRefill(enabled=False), "BRAND_NOT_AUTHORIZED"),
        (replace(ANN, verified=False), EditAutoRefill(enabled=False), "EMAIL_NOT_VERIFIED"),
        (ANN, EditAutoRefill(enabled=True, threshold=40), "VALIDATION_ERROR"),
        (ANN, EditAutoRefill(enabled=True, threshold=40, amount=750), "VALIDATION_ERROR"),
    ],
)
def test_the_owners_settings_change_nothing_when_they_are_refused(
    database: Database, caller: Caller, request_: EditAutoRefill, code: str
) -> None:
    wish(database)
    with pytest.raises(ApiError, match=code):
        edit_auto_refill(database, caller, request_)
    assert (shown(database).enabled, shown(database).threshold) == (True, 25)


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
