"""Payments by Stripe's HTTP API, which the simulator plays: each is charged once and notified once."""

import json
import queue
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from ai_kit.scripted_server import ScriptedServer, replying
from ai_kit.simulator import Simulator
from structlog.testing import capture_logs

from ai.payments.base import (
    AnswerReplayed,
    BadSignature,
    Order,
    OutcomeUnknown,
    PackSale,
    PaymentDispute,
    PaymentOutcome,
    PaymentRefund,
    PaymentState,
)
from ai.payments.stripe import Stripe, StripeSettings

ORDER = Order("rfl_1", "usr_1", 900, "cus_local_1", "pm_card_visa")


@pytest.fixture
def settings(simulator: Simulator) -> StripeSettings:
    return StripeSettings(
        api_url=simulator.url,
        secret_key="local-stripe-key",
        webhook_secret="whsec_here",
        read_timeout_seconds=5,
    )


@pytest.fixture
def stripe(settings: StripeSettings) -> Stripe:
    return Stripe(settings)


@pytest.fixture
def calls(simulator: Simulator) -> Iterator["queue.Queue[tuple[bytes, str]]"]:
    """Receives Stripe's webhooks. Queues the body and the signature of each."""
    came: queue.Queue[tuple[bytes, str]] = queue.Queue()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            came.put((body, self.headers["Stripe-Signature"]))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Logs nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    url = f"http://127.0.0.1:{server.server_port}/"
    simulator.call("POST", "stripe/webhook", url=url, secret="whsec_here")
    yield came
    simulator.call("POST", "stripe/webhook", url="")
    server.shutdown()
    thread.join()
    server.server_close()


def charged(simulator: Simulator) -> dict[str, int]:
    return dict(simulator.call("GET", "payments")["charged"])


def test_an_order_is_paid_and_can_be_looked_up(stripe: Stripe, simulator: Simulator) -> None:
    paid = stripe.pay(ORDER)
    assert (paid.state, paid.order_id, paid.paid_cents) == (PaymentState.PAID, "rfl_1", 900)
    assert paid.payment_id is not None
    assert stripe.look_up(paid.payment_id) == paid
    assert charged(simulator) == {"count": 1, "amount": 900}


def test_an_order_sent_again_is_charged_once(stripe: Stripe, simulator: Simulator) -> None:
    assert stripe.pay(ORDER) == stripe.pay(ORDER)
    assert charged(simulator)["count"] == 1


def test_an_order_whose_answer_was_lost_is_charged_once(stripe: Stripe, simulator: Simulator) -> None:
    simulator.fault("payment", "drop_after_accept", provider="stripe")
    with pytest.raises(OutcomeUnknown):
        stripe.pay(ORDER)
    assert stripe.pay(ORDER).state is PaymentState.PAID
    assert charged(simulator)["count"] == 1


@pytest.mark.parametrize(
    ("card", "reason"),
    [
        ("pm_card_chargeDeclined", "generic_decline"),
        ("pm_card_chargeDeclinedInsufficientFunds", "insufficient_funds"),
        ("pm_card_authenticationRequired", "authentication_required"),
    ],
)
def test_a_declined_card_is_a_failure_with_its_reason(
    stripe: Stripe, simulator: Simulator, card: str, reason: str
) -> None:
    failed = stripe.pay(replace(ORDER, payment_method=card))
    assert (failed.state, failed.error) == (PaymentState.FAILED, reason)
    assert failed.payment_id is not None
    assert stripe.look_up(failed.payment_id).state is PaymentState.FAILED
    assert charged(simulator)["count"] == 0


@pytest.mark.parametrize("mode", ["rate_limit", "server_error"])
def test_an_answer_without_a_decision_leaves_the_outcome_unknown(
    stripe: Stripe, simulator: Simulator, mode: str
) -> None:
    simulator.fault("payment", mode, provider="stripe")
    with pytest.raises(OutcomeUnknown):
        stripe.pay(ORDER)
    assert charged(simulator)["count"] == 0


def test_a_replayed_failure_says_that_repeating_is_useless(stripe: Stripe, simulator: Simulator) -> None:
    simulator.fault("payment", "server_error", provider="stripe")
    with pytest.raises(OutcomeUnknown) as first:
        stripe.pay(ORDER)
    assert not isinstance(first.value, AnswerReplayed)
    with pytest.raises(AnswerReplayed):
        stripe.pay(ORDER)


@pytest.mark.parametrize("status", [301, 401, 403, 404])
def test_an_answer_about_our_key_or_address_says_nothing_about_the_payment(
    settings: StripeSettings, server: ScriptedServer, status: int
) -> None:
    """Stripe may have accepted an earlier request for the order, before the key was rotated."""
    server.script = [replying(status, b'{"error": {"type": "invalid_request_error"}}')]
    with pytest.raises(OutcomeUnknown):
        Stripe(replace(settings, api_url=server.url)).pay(ORDER)


def test_an_order_that_was_sent_with_other_values_must_be_searched_for(
    stripe: Stripe, simulator: Simulator
) -> None:
    stripe.pay(ORDER)
    with pytest.raises(AnswerReplayed):
        stripe.pay(replace(ORDER, payment_method="pm_other"))
    assert charged(simulator)["count"] == 1


def test_an_invalid_order_is_a_failure_but_no_decline(stripe: Stripe) -> None:
    failed = stripe.pay(replace(ORDER, customer="cus_nobody"))
    assert (failed.state, failed.error) == (PaymentState.FAILED, "invalid_request:resource_missing")


def test_a_failed_search_says_nothing_about_the_payment(stripe: Stripe, simulator: Simulator) -> None:
    payment_id = stripe.pay(ORDER).payment_id or ""
    simulator.fault("status", "expired", provider="stripe")
    with pytest.raises(OutcomeUnknown):
        stripe.look_up(payment_id)
    with pytest.raises(OutcomeUnknown):
        stripe.look_up("pi_nothing")


def test_an_order_too_old_to_be_sent_again_is_found_by_its_id(stripe: Stripe, simulator: Simulator) -> None:
    stripe.pay(replace(ORDER, id="rfl_0", payment_method="pm_card_chargeDeclined"))
    simulator.fault("payment", "drop_after_accept", provider="stripe")
    with pytest.raises(OutcomeUnknown):
        stripe.pay(ORDER)
    found, refused = stripe.find("rfl_1"), stripe.find("rfl_0")
    assert found is not None
    assert (found.state, found.paid_cents) == (PaymentState.PAID, 900)
    assert refused is not None
    assert refused.state is PaymentState.FAILED
    assert stripe.find("rfl_2") is None


def test_a_payment_arrives_by_a_signed_call(stripe: Stripe, calls: "queue.Queue[tuple[bytes, str]]") -> None:
    paid = stripe.pay(ORDER)
    assert stripe.read_hook(*calls.get(timeout=30)) == paid
    stripe.pay(replace(ORDER, id="rfl_2", payment_method="pm_card_chargeDeclined"))
    told = stripe.read_hook(*calls.get(timeout=30))
    assert told is not None
    assert isinstance(told, PaymentOutcome)
    assert (told.state, told.order_id, told.error) == (PaymentState.FAILED, "rfl_2", "generic_decline")


def test_a_pack_sale_arrives_with_its_buyer(
    stripe: Stripe, simulator: Simulator, calls: "queue.Queue[tuple[bytes, str]]"
) -> None:
    sold = simulator.call(
        "POST", "stripe/checkout", amount=2500, client_reference_id="usr_1", metadata={"credits": "1500"}
    )
    assert stripe.read_hook(*calls.get(timeout=30)) == PackSale(
        sold["id"], "usr_1", 1500, sold["payment_intent"], 2500, "usd"
    )


def test_a_changed_or_wrongly_signed_call_is_refused(
    stripe: Stripe, settings: StripeSettings, calls: "queue.Queue[tuple[bytes, str]]"
) -> None:
    stripe.pay(ORDER)
    body, signature = calls.get(timeout=30)
    event = json.loads(body)
    event["data"]["object"]["amount_received"] = 90_000
    with pytest.raises(BadSignature):
        stripe.read_hook(json.dumps(event).encode(), signature)
    with pytest.raises(BadSignature):
        Stripe(replace(settings, webhook_secret="whsec_other")).read_hook(body, signature)


@pytest.mark.parametrize("shift_seconds", [-600, 600])
def test_a_call_that_is_too_old_or_from_the_future_is_refused(
    stripe: Stripe, simulator: Simulator, calls: "queue.Queue[tuple[bytes, str]]", shift_seconds: int
) -> None:
    simulator.call("POST", "clock", shift_seconds=shift_seconds)
    try:
        stripe.pay(ORDER)
        call = calls.get(timeout=30)  # signed at the shifted time
    finally:
        simulator.call("POST", "clock", shift_seconds=0)
    with pytest.raises(BadSignature):
        stripe.read_hook(*call)


def test_a_call_about_something_else_is_ignored(
    stripe: Stripe, simulator: Simulator, calls: "queue.Queue[tuple[bytes, str]]"
) -> None:
    simulator.call("POST", "stripe/events", type="customer.created", object={"id": "cus_1"})
    assert stripe.read_hook(*calls.get(timeout=30)) is None


#: The fields that are read, and some of their neighbours (stripe/openapi, fixtures3.json of 2026-08-21).
CHARGE = {
    "id": "ch_1", "object": "charge", "amount": 2_500, "amount_captured": 2_500, "amount_refunded": 1_000,
    "captured": True, "currency": "usd", "disputed": False, "metadata": {}, "payment_intent": "pi_1",
    "refunded": False, "status": "succeeded",
}  # fmt: skip
DISPUTE = {
    "id": "dp_1", "object": "dispute", "amount": 2_500, "balance_transactions": [], "charge": "ch_1",
    "currency": "usd", "is_charge_refundable": False, "metadata": {}, "payment_intent": "pi_1",
    "reason": "fraudulent", "status": "needs_response",
}  # fmt: skip


@pytest.fixture
def hear(stripe: Stripe, simulator: Simulator, calls: "queue.Queue[tuple[bytes, str]]") -> Callable[..., Any]:
    """`hear(kind, thing)` makes Stripe send an event. Returns what our code read in it, and the event's time."""

    def send(kind: str, thing: dict[str, Any]) -> tuple[Any, int]:
        simulator.call("POST", "stripe/events", type=kind, object=thing)
        body, signature = calls.get(timeout=30)
        return stripe.read_hook(body, signature), json.loads(body)["created"]

    return send


def test_a_refund_arrives_with_the_sum_of_all_refunds(hear: Callable[..., Any]) -> None:
    told, at = hear("charge.refunded", CHARGE)
    assert told == PaymentRefund("pi_1", at, 2_500, 1_000, "usd")
    told, at = hear(
        "charge.refunded", {**CHARGE, "payment_intent": {"id": "pi_1", "object": "payment_intent"}}
    )
    assert told == PaymentRefund("pi_1", at, 2_500, 1_000, "usd")


@pytest.mark.parametrize("kind", ["created", "updated", "closed", "funds_withdrawn", "funds_reinstated"])
def test_a_dispute_arrives_with_its_state(hear: Callable[..., Any], kind: str) -> None:
    told, at = hear(f"charge.dispute.{kind}", DISPUTE)
    assert told == PaymentDispute("dp_1", "pi_1", at, 2_500, "usd", "needs_response")


@pytest.mark.parametrize(
    ("kind", "thing"), [("charge.refunded", CHARGE), ("charge.dispute.created", DISPUTE)]
)
def test_a_charge_without_a_payment_intent_is_ignored(
    hear: Callable[..., Any], kind: str, thing: dict[str, Any]
) -> None:
    assert hear(kind, {**thing, "payment_intent": None})[0] is None


def test_a_signed_call_that_cannot_be_read_is_logged(hear: Callable[..., Any]) -> None:
    with capture_logs() as lines:
        assert hear("charge.refunded", {"id": "ch_1"})[0] is None
    assert [line["event"] for line in lines] == ["payment_hook_unreadable"]
