"""What an account can buy, and when refills are allowed."""

from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from ai.credits.auto_refill import is_card_exhausted, next_refill_at
from ai.records import AutoRefillSettings, Refill
from ai.rules.offers import auto_refill, packs
from ai.rules.prices import CreditSettings

MANUAL = CreditSettings()
STRIPE = CreditSettings(payment_provider="stripe", pack_links={1_500: "https://buy.example/15"})
WISH = AutoRefillSettings(
    account_id="usr_1",
    tier="pro",
    enabled=True,
    threshold=50,
    credits=1_000,
    customer="c",
    payment_method="p",
)
REFILL = Refill(
    id="rfl_1", account_id="usr_1", credits=1_000, price_cents=1_800, customer="c", payment_method="p"
)
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


def test_packs_come_by_size_with_their_prices() -> None:
    offered = packs(MANUAL, "usr_1", offered=True)
    assert [(pack.id, pack.credits, pack.price_usd) for pack in offered] == [
        ("pack_500", 500, 9.0), ("pack_1500", 1_500, 25.0), ("pack_5000", 5_000, 79.0), ("pack_15000", 15_000, 199.0),
    ]  # fmt: skip
    assert offered[0].price_per_credit == 0.018


def test_nothing_is_available_while_no_payment_provider_is_configured() -> None:
    linked = CreditSettings(pack_links=STRIPE.pack_links)
    assert not any(pack.available or pack.url for pack in packs(linked, "usr_1", offered=True))
    shown = auto_refill(linked, WISH, None)
    assert (shown.available, shown.status, shown.enabled) == (False, "not_configured", True)


def test_an_unverified_account_is_offered_no_pack() -> None:
    assert not any(pack.available or pack.url for pack in packs(STRIPE, "usr_1", offered=False))


def test_a_pack_with_a_link_is_available_and_names_its_buyer() -> None:
    offered = {pack.credits: pack for pack in packs(STRIPE, "usr_1", offered=True)}
    assert offered[1_500].url == "https://buy.example/15?client_reference_id=usr_1"
    assert [size for size, pack in offered.items() if pack.available] == [1_500]


@pytest.mark.parametrize(
    ("wish", "newest", "status"),
    [
        (None, None, "off"),
        ({"enabled": False}, None, "off"),
        ({"payment_method": None}, None, "no_payment_method"),
        ({}, None, "active"),
        ({}, "paid", "active"),
        ({}, "open", "pending"),
        ({}, "failed", "payment_failed"),
    ],
)
def test_auto_refill_shows_its_state(wish: dict[str, object] | None, newest: str | None, status: str) -> None:
    shown = auto_refill(
        STRIPE,
        None if wish is None else replace(WISH, **wish),
        None if newest is None else replace(REFILL, state=newest),
    )
    assert shown.status == status


def test_amounts_offered_are_500_to_5000_in_steps_of_the_unit() -> None:
    shown = auto_refill(STRIPE, None, None)
    assert (shown.amounts[0], shown.amounts[-1], shown.unit_credits) == (500, 5_000, 500)
    assert all(amount % shown.unit_credits == 0 for amount in shown.amounts)


@pytest.mark.parametrize(
    ("errors", "hopeless"),
    [
        ([], False),
        (["generic_decline"] * 4, False),
        (["generic_decline"] * 5, True),
        (["expired_card"], True),
        (["authentication_required", "generic_decline"], True),
        (["generic_decline", "expired_card"], False),
        (["generic_decline"] * 2 + ["never_taken"] + ["generic_decline"] * 2, False),
        (["generic_decline"] * 4 + [None], False),
        (["invalid_request:resource_missing"] * 5, False),
        ([None, "expired_card"], False),
    ],
)
def test_a_useless_card_is_not_charged(errors: list[str | None], hopeless: bool) -> None:
    newest = [replace(REFILL, state="failed" if error else "paid", error=error) for error in errors]
    assert is_card_exhausted(newest) is hopeless


def test_the_first_refill_is_allowed_at_once() -> None:
    assert next_refill_at([], NOON) == NOON


def test_the_next_refill_is_allowed_ten_minutes_after_the_last() -> None:
    assert next_refill_at([NOON], NOON + timedelta(minutes=3)) == NOON + timedelta(minutes=10)
    assert next_refill_at([NOON], NOON + timedelta(minutes=10)) == NOON + timedelta(minutes=10)


def test_the_sixth_of_a_day_waits_for_midnight() -> None:
    day = [NOON + timedelta(hours=hour) for hour in range(5)]
    assert next_refill_at(day, NOON + timedelta(hours=6)) == datetime(2026, 11, 21, tzinfo=UTC)
    assert next_refill_at(day, NOON + timedelta(hours=13)) == NOON + timedelta(hours=13)


def test_ten_minutes_apply_across_midnight() -> None:
    late = datetime(2026, 11, 20, 23, 55, tzinfo=UTC)
    day = [late - timedelta(hours=hour) for hour in range(4, -1, -1)]
    assert next_refill_at(day, late + timedelta(minutes=1)) == datetime(2026, 11, 21, 0, 5, tzinfo=UTC)
