"""Tests bought packs of credits and auto-refill: each is paid once and credited once.

Stripe is simulated. The tests compare what it has charged with the credits that the account got.
"""

import datetime as dt
import uuid
from typing import Any

import pytest
import requests
from e2e_kit.api import Json, refused
from e2e_kit.operator import Account, Accounts, Clock, Operator
from e2e_kit.simulator import Simulator
from e2e_kit.stack import Stack
from e2e_kit.waiting import until

ELITE = 2_400
#: Longest time from a charge to its credits, and the same with one lost response (asked for again after 30 s).
REFILL_SECONDS, LOST_ANSWER_SECONDS = 30.0, 60.0
#: Price of 500 credits in cents (services/ai, prices).
PRICE_CENTS = 900
GAP_MINUTES = 11


pytestmark = pytest.mark.alone


@pytest.fixture
def account(accounts: Accounts, simulator: Simulator) -> Account:
    simulator.clear_faults()
    return accounts.new(pages=())


def customer_of(account: Account) -> str:
    return f"cus_local_{account.user_id}"


def refill(operator: Operator, account: Account, *options: str, card: str = "pm_card_visa") -> Json:
    """Turns auto-refill on or changes it. By default it refills when the balance falls below 2,395 credits."""
    payer = ("--customer", customer_of(account), "--payment-method", card)
    chosen = options or ("--threshold", "2395", "--amount", "500")
    told: Json = operator("credits", "auto-refill", "--user", account.user_id, *chosen, *payer)["auto_refill"]
    return told


def spend(account: Account) -> None:
    account.api.post("/ai/images", {"prompt": "x"})


def credits_of(account: Account) -> Json:
    balance: Json = account.api.get("/account/credits")
    return balance


def await_bonus(account: Account, bonus: int, seconds: float = REFILL_SECONDS) -> None:
    until(lambda: credits_of(account)["credits"]["bonus"] >= bonus, seconds, f"{bonus} credits are there")
    assert credits_of(account)["credits"]["bonus"] == bonus


def await_status(account: Account, status: str, seconds: float = REFILL_SECONDS) -> None:
    until(lambda: credits_of(account)["auto_refill"]["status"] == status, seconds, status)


def charged(simulator: Simulator, account: Account) -> list[Any]:
    """Returns the successful charges of the account, in cents."""
    rows = simulator.payments()["payments"]
    ours = [row for row in rows if row["customer"] == customer_of(account) and row["status"] == "succeeded"]
    assert len({row["idempotency_key"] for row in ours}) == len(ours)
    return [row["amount"] for row in ours]


class TestPacks:
    def test_all_are_for_sale_and_name_their_buyer(self, account: Account) -> None:
        packs = credits_of(account)["packs"]
        assert [(pack["credits"], pack["available"]) for pack in packs] == [
            (500, True), (1_500, True), (5_000, True), (15_000, True)
        ]  # fmt: skip
        assert all(pack["url"].endswith(f"?client_reference_id={account.user_id}") for pack in packs)

    def test_one_that_is_bought_is_credited_once_however_often_it_is_told(
        self, account: Account, simulator: Simulator
    ) -> None:
        session = {
            "id": f"cs_{uuid.uuid4().hex}", "payment_status": "paid", "client_reference_id": account.user_id,
            "metadata": {"credits": "1500"},
        }  # fmt: skip
        told = [simulator.tell_payment("checkout.session.completed", session) for _ in range(3)]
        until(lambda: simulator.delivered(told), REFILL_SECONDS, "all are delivered")
        assert credits_of(account)["credits"]["bonus"] == 1_500
        simulator.pay_link(2_500, account.user_id, credits="1500")
        await_bonus(account, 3_000)

    def test_what_is_no_pack_or_is_not_paid_is_taken_and_forgotten(
        self, account: Account, simulator: Simulator
    ) -> None:
        session = {
            "id": f"cs_{uuid.uuid4().hex}", "payment_status": "paid", "client_reference_id": account.user_id,
            "metadata": {"credits": "1500"},
        }  # fmt: skip
        odd: list[Json] = [
            {"metadata": {"credits": "1000000"}}, {"metadata": {"credits": "-500"}}, {"metadata": None},
            {"payment_status": "unpaid"}, {"client_reference_id": None}, {"client_reference_id": "usr_none"},
        ]  # fmt: skip
        told = [simulator.tell_payment("checkout.session.completed", {**session, **it}) for it in odd]
        until(lambda: simulator.delivered(told), REFILL_SECONDS, "all are delivered")
        assert credits_of(account)["credits"]["bonus"] == 0


class TestMoneyThatGoesBack:
    """Refunds and disputes of bought credits, as Stripe reports them."""

    def test_a_refund_in_part_then_a_dispute_that_is_won(
        self, account: Account, simulator: Simulator
    ) -> None:
        payment = f"pi_{uuid.uuid4().hex}"
        sold = {
            "id": f"cs_{uuid.uuid4().hex}", "payment_status": "paid", "client_reference_id": account.user_id,
            "metadata": {"credits": "1500"}, "payment_intent": payment, "amount_total": 2_500, "currency": "usd",
        }  # fmt: skip
        refunded = {
            "id": "ch_1", "payment_intent": payment, "amount": 2_500, "amount_captured": 2_500,
            "amount_refunded": 500, "currency": "usd",
        }  # fmt: skip
        dispute = {
            "id": f"dp_{uuid.uuid4().hex}", "payment_intent": payment, "amount": 2_000, "currency": "usd",
        }  # fmt: skip
        steps: list[tuple[str, Json, int]] = [
            ("charge.refunded", refunded, 0),
            ("checkout.session.completed", sold, 1_200),
            ("charge.dispute.created", {**dispute, "status": "needs_response"}, 0),
            ("charge.dispute.closed", {**dispute, "status": "won"}, 1_200),
        ]
        for kind, thing, bonus in steps:
            told = [simulator.tell_payment(kind, thing) for _ in range(2)]
            until(lambda told=told: simulator.delivered(told), REFILL_SECONDS, "both are delivered")
            assert (credits_of(account)["credits"]["bonus"], kind) == (bonus, kind)


class TestHook:
    """Tests that /hooks/stripe accepts only events that Stripe has signed."""

    @pytest.mark.parametrize(
        "signature", [None, "", "t=1,v1=00", "t=1", "v1=00", "nonsense", "t=99999999999999999999,v1=zz"]
    )
    def test_what_stripe_did_not_sign_is_refused(
        self, account: Account, stack: Stack, signature: str | None
    ) -> None:
        sale = f'"client_reference_id": "{account.user_id}", "metadata": {{"credits": "500"}}, "id": "cs_x"'
        body = (
            '{"type": "checkout.session.completed", '
            f'"data": {{"object": {{"payment_status": "paid", {sale}}}}}}}'
        )
        headers = {"Content-Type": "application/json"}
        if signature is not None:
            headers["Stripe-Signature"] = signature
        answer = requests.post(f"{stack.root_url}/hooks/stripe", body, headers=headers, timeout=10)
        refused(answer, 400, "VALIDATION_ERROR")
        assert credits_of(account)["credits"]["bonus"] == 0


class TestAutoRefill:
    def test_it_comes_when_the_balance_falls_below_its_threshold(
        self, account: Account, operator: Operator, simulator: Simulator
    ) -> None:
        told = credits_of(account)["auto_refill"]
        assert (told["available"], told["enabled"], told["status"]) == (True, False, "off")
        told = refill(operator, account)
        assert (told["enabled"], told["status"]) == (True, "active")
        assert (told["threshold"], told["amount"]) == (2_395, 500)
        assert charged(simulator, account) == []
        spend(account)
        await_bonus(account, 500)
        assert charged(simulator, account) == [PRICE_CENTS]
        balance = credits_of(account)
        assert balance["credits"]["available"] == ELITE - 10 + 500
        assert balance["auto_refill"]["status"] == "active"

    def test_the_owner_turns_it_on_and_off_over_the_api(
        self, accounts: Accounts, operator: Operator, simulator: Simulator
    ) -> None:
        account = accounts.new(pages=(), scopes="*,manage:account")
        refill(operator, account, "--off")
        told = account.api.put("/billing/auto-refill", {"enabled": True, "threshold": 2_395, "amount": 500})
        assert (told["status"], told["threshold"], told["amount"]) == ("active", 2_395, 500)
        assert account.api.get("/billing/auto-refill") == told == account.api.get("/billing")["auto_refill"]
        spend(account)
        await_bonus(account, 500)
        assert account.api.put("/billing/auto-refill", {"enabled": False})["status"] == "off"
        spend(account)
        assert charged(simulator, account) == [PRICE_CENTS]

    def test_turned_off_it_takes_nothing(
        self, account: Account, operator: Operator, simulator: Simulator
    ) -> None:
        refill(operator, account)
        assert refill(operator, account, "--off")["status"] == "off"
        spend(account)
        assert credits_of(account)["credits"]["available"] == ELITE - 10
        assert charged(simulator, account) == []

    def test_a_card_that_is_declined_gives_nothing_and_another_one_does(
        self, account: Account, operator: Operator, simulator: Simulator, clock: Clock
    ) -> None:
        refill(operator, account, card="pm_card_chargeDeclined")
        spend(account)
        await_status(account, "payment_failed")
        assert (credits_of(account)["credits"]["bonus"], charged(simulator, account)) == (0, [])
        refill(operator, account)
        clock.shift(minutes=GAP_MINUTES)
        await_bonus(account, 500)
        assert charged(simulator, account) == [PRICE_CENTS]

    def test_an_answer_that_does_not_come_is_asked_for_again_and_paid_once(
        self, account: Account, operator: Operator, simulator: Simulator
    ) -> None:
        refill(operator, account)
        simulator.fault_of_customer(customer_of(account), "drop_after_accept")
        spend(account)
        await_bonus(account, 500, LOST_ANSWER_SECONDS)
        assert charged(simulator, account) == [PRICE_CENTS]

    def test_one_that_stripe_failed_at_is_given_up_after_an_hour_and_the_next_is_paid(
        self, account: Account, operator: Operator, simulator: Simulator, clock: Clock
    ) -> None:
        """Stripe answers a repeated idempotency key with the first answer, even if that was a failure."""
        refill(operator, account)
        simulator.fault_of_customer(customer_of(account), "server_error")
        spend(account)
        await_status(account, "pending")
        clock.shift(minutes=61)
        await_status(account, "payment_failed", LOST_ANSWER_SECONDS)
        assert (credits_of(account)["credits"]["bonus"], charged(simulator, account)) == (0, [])
        spend(account)
        await_bonus(account, 500)
        assert charged(simulator, account) == [PRICE_CENTS]

    def test_a_service_killed_while_it_is_paid_gives_the_credits_once(
        self, account: Account, operator: Operator, simulator: Simulator, stack: Stack
    ) -> None:
        refill(operator, account)
        simulator.fault_of_customer(customer_of(account), "slow")
        spend(account)
        await_status(account, "pending")
        stack.await_restart("ai", stack.kill("ai"))
        stack.await_ready(30)
        await_bonus(account, 500, LOST_ANSWER_SECONDS)
        assert charged(simulator, account) == [PRICE_CENTS]

    def test_one_in_ten_minutes_and_five_a_day(
        self, account: Account, operator: Operator, simulator: Simulator, clock: Clock
    ) -> None:
        """The balance stays below the threshold, so that only the limits stop further refills."""
        clock.shift_to(clock.now().replace(hour=0, minute=1) + dt.timedelta(days=1))
        refill(operator, account, "--threshold", "1000000", "--amount", "500")
        for count in range(1, 6):
            await_bonus(account, 500 * count)
            clock.shift(minutes=9)
            spend(account)
            assert credits_of(account)["credits"]["bonus"] == 500 * count
            clock.shift(minutes=2)
        spend(account)
        assert len(charged(simulator, account)) == 5
        clock.shift_to(clock.now().replace(hour=23, minute=58))
        spend(account)
        assert len(charged(simulator, account)) == 5
        clock.shift(minutes=4)
        await_bonus(account, 3_000)
        assert charged(simulator, account) == [PRICE_CENTS] * 6
