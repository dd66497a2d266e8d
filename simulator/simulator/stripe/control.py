"""The control API's routes (/_sim) for Stripe: they list payments, set the webhook endpoint, and simulate payment
links.
"""

import secrets
from datetime import UTC, datetime
from typing import Any

from flask import Blueprint, Response, jsonify, request

from simulator.clock import rfc3339
from simulator.simulation import Simulation
from simulator.stripe import intents
from simulator.stripe.ledger import Ledger
from simulator.stripe.webhooks import Webhooks


def add_control(stripe: Blueprint, sim: Simulation, ledger: Ledger, webhooks: Webhooks) -> None:
    """Adds the control API's routes for Stripe."""

    @stripe.get("/_sim/payments")
    def show_payments() -> Response:
        """Lists all payments with their idempotency keys, the number and the sum of the successful payments, and all
        webhook deliveries.
        """
        rows = ledger.rows()
        charged = [row["amount"] for row in rows if row["status"] == "succeeded"]
        return jsonify(
            payments=[{**_shown(row), "idempotency_key": ledger.key_of.get(row["id"])} for row in rows],
            charged={"count": len(charged), "amount": sum(charged)},
            webhooks=[
                {"id": row.event_id, "type": row.type, "tries": row.tries, "status": row.status,
                 "delivered": row.delivered}
                for row in webhooks.rows()
            ],
        )  # fmt: skip

    @stripe.post("/_sim/stripe/webhook")
    def set_endpoint() -> tuple[Response, int] | Response:
        """Takes {url, secret?} and sets the webhook endpoint and its signing secret. With an empty URL no webhook is
        sent.
        """
        body = _body()
        if not isinstance(body.get("url"), str) or not isinstance(body.get("secret", ""), str):
            return jsonify(error="url (and secret) have to be text"), 400
        webhooks.url, webhooks.secret = body["url"], body.get("secret") or webhooks.secret
        return jsonify(url=webhooks.url, secret=webhooks.secret)

    @stripe.post("/_sim/stripe/events")
    def send_event() -> tuple[Response, int]:
        """Takes {type, object, id?} and sends a signed event. With `id`, a test can send the same id twice."""
        body = _body()
        if not isinstance(body.get("type"), str) or not isinstance(body.get("object"), dict):
            return jsonify(error="type has to be text, object an object"), 400
        return jsonify(id=webhooks.send(body["type"], body["object"], event_id=body.get("id"))), 201

    @stripe.post("/_sim/stripe/checkout")
    def pay_link() -> tuple[Response, int]:
        """Takes {amount, currency, …}, simulates a payment on the page of a payment link, and sends
        `checkout.session.completed`.
        """
        body = _body()
        amount, currency = body.get("amount"), body.get("currency", "usd")
        if not isinstance(amount, int) or amount < 1 or not isinstance(currency, str):
            return jsonify(error="amount has to be a number of cents, currency text"), 400
        intent = intents.paid(ledger.now(), amount, currency)
        ledger.add(intent, None)
        session = {
            "id": "cs_test_" + secrets.token_hex(24), "object": "checkout.session", "amount_subtotal": amount,
            "amount_total": amount, "client_reference_id": body.get("client_reference_id"),
            "created": intent["created"], "currency": currency, "customer": None, "livemode": False,
            "metadata": body.get("metadata") or {}, "mode": "payment", "payment_intent": intent["id"],
            "payment_link": body.get("payment_link"), "payment_status": "paid", "status": "complete",
        }  # fmt: skip
        event_id = webhooks.send("checkout.session.completed", session)
        return jsonify(id=session["id"], payment_intent=intent["id"], event_id=event_id), 201

    def _shown(row: dict[str, Any]) -> dict[str, Any]:
        names = ("id", "amount", "currency", "customer", "status", "metadata", "description")
        return {
            **{name: row[name] for name in names},
            "created_at": rfc3339(datetime.fromtimestamp(row["created"], UTC)),
        }


def _body() -> dict[str, Any]:
    body = request.get_json(force=True, silent=True)
    return body if isinstance(body, dict) else {}
