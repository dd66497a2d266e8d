"""Stripe's HTTP API: payments while the customer is absent (off-session PaymentIntents), and webhooks.

A request that is repeated with the same Idempotency-Key and body within 24 hours gets the first answer again, even a
500. The answers 401, 403, 409, 429 and 5xx do not tell whether an earlier request for the same payment had an effect.

The shapes of charges and disputes follow Stripe's own descriptions, read on 2026-11-22: stripe-python 15.3.1
(`_charge.py`: `amount_refunded`, `payment_intent`; `_dispute.py`: `amount`, `payment_intent`, `status`) and
`fixtures3.json` of stripe/openapi of 2026-08-21. Events have no guaranteed order and may be repeated
(docs.stripe.com/webhooks): each carries `created` in seconds, and its object as it was then.
"""

import hashlib
import hmac
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import structlog
from urllib3.exceptions import HTTPError

from ai.payments.base import (
    INVALID_REQUEST,
    AnswerReplayed,
    BadSignature,
    Notification,
    Order,
    OutcomeUnknown,
    PackSale,
    PaymentDispute,
    PaymentOutcome,
    PaymentProvider,
    PaymentRefund,
    PaymentState,
)
from chassis.http.outbound import Limits, Outbound
from chassis.telemetry import tracing

log = structlog.get_logger()

#: The largest answer that is read: a list of ten payments has some 50 kB.
_MAX_ANSWER_BYTES = 2**20
#: Statuses about the order itself: it is invalid, or the card was declined. All others are about our key, our address
#: or the moment, and do not tell the outcome of an earlier request.
_REFUSED = (400, 402)
_STATES = {
    "succeeded": PaymentState.PAID,
    "processing": PaymentState.PENDING,
    "requires_capture": PaymentState.PENDING,
}
#: Events with the result of a payment (Stripe, "Types of events").
_PAID, _FAILED = "payment_intent.succeeded", "payment_intent.payment_failed"
_PACK_SOLD = ("checkout.session.completed", "checkout.session.async_payment_succeeded")
#: The event of a refund. Its object is the charge, whose `amount_refunded` is the sum of all refunds. Events of
#: disputes have the dispute as their object.
_REFUNDED = "charge.refunded"
_DISPUTED = frozenset(
    f"charge.dispute.{it}" for it in ("created", "updated", "closed", "funds_withdrawn", "funds_reinstated")
)


@dataclass(frozen=True, slots=True)
class StripeSettings:
    """The settings of Stripe. Times in seconds."""

    api_url: str = "https://api.stripe.com"
    secret_key: str = field(default="", repr=False)
    #: Verifies Stripe's webhooks (`whsec_…`).
    webhook_secret: str = field(default="", repr=False)
    connect_timeout_seconds: float = 5.0
    read_timeout_seconds: float = 20.0
    #: A webhook older than this is refused, as by Stripe's own libraries.
    tolerance_seconds: float = 300.0


class Stripe(PaymentProvider):
    """The payment provider that takes payments through one Stripe account."""

    def __init__(self, settings: StripeSettings) -> None:
        self._settings = settings
        self._base = settings.api_url.rstrip("/")
        limits = Limits(
            connect_seconds=settings.connect_timeout_seconds,
            silence_seconds=settings.read_timeout_seconds,
            max_answer_bytes=_MAX_ANSWER_BYTES,
        )
        self._http = Outbound(limits, connections=1)

    def pay(self, order: Order) -> PaymentOutcome:
        # Cards alone: other methods may redirect the customer, who is absent.
        fields = {
            "amount": str(order.price_cents), "currency": "usd", "customer": order.customer,
            "payment_method": order.payment_method, "payment_method_types[0]": "card",
            "off_session": "true", "confirm": "true", "description": "AI credits, automatic refill",
            "metadata[refill_id]": order.id, "metadata[account_id]": order.account_id,
        }  # fmt: skip
        status, answer = self._call("POST", "/v1/payment_intents", fields, {"Idempotency-Key": order.id})
        return _intent(answer) if status < 300 else _refused(status, answer)

    def look_up(self, payment_id: str) -> PaymentOutcome:
        return _intent(self._look(f"/v1/payment_intents/{quote(payment_id, safe='')}"))

    def find(self, order_id: str) -> PaymentOutcome | None:
        query = urlencode({"query": f"metadata['refill_id']:'{order_id}'"})
        found = self._look(f"/v1/payment_intents/search?{query}").get("data")
        if not isinstance(found, list):
            raise OutcomeUnknown("no list")
        # At most one is paid. Any other is a refused attempt.
        payments = [_payment(intent) for intent in found]
        paid = [payment for payment in payments if payment.state is not PaymentState.FAILED]
        return next(iter(paid or payments), None)

    def _look(self, path: str) -> dict[str, Any]:
        """Reads an object from Stripe. Raises OutcomeUnknown if that fails, because a failed read says nothing about
        the payment.
        """
        status, answer = self._call("GET", path)
        if status >= 300:
            raise OutcomeUnknown(f"HTTP {status}")
        return answer

    def _call(
        self, method: str, path: str, fields: Mapping[str, str] | None = None, headers: Mapping[str, str] = {}
    ) -> tuple[int, dict[str, Any]]:
        """Calls Stripe and returns status and JSON of the answer, if the answer shows the outcome.

        Otherwise raises OutcomeUnknown, or AnswerReplayed if Stripe did nothing because it had received the request
        before.
        """
        sent = {"Authorization": f"Bearer {self._settings.secret_key}", **headers}
        if fields is not None:
            sent["Content-Type"] = "application/x-www-form-urlencoded"
        try:
            with tracing.outbound(method, urlsplit(self._base).hostname or "") as traced:
                response = self._http.request(
                    method, self._base + path, body=urlencode(fields) if fields else None, headers=sent
                )
                traced.got(response.status)
            answer = json.loads(response.data)
        except (HTTPError, ValueError) as error:
            raise OutcomeUnknown(type(error).__name__) from error
        if response.status >= 500 and response.headers.get("Idempotent-Replayed") == "true":
            raise AnswerReplayed(f"HTTP {response.status}")
        if not isinstance(answer, dict) or not (response.status < 300 or response.status in _REFUSED):
            raise OutcomeUnknown(f"HTTP {response.status}")
        if response.status == 400 and (answer.get("error") or {}).get("type") == "idempotency_error":
            raise AnswerReplayed("sent before with other values")
        return response.status, answer

    def read_hook(self, body: bytes, signature: str, now: datetime | None = None) -> Notification | None:
        self._check(body, signature, now.timestamp() if now else time.time())
        try:
            return _notification(json.loads(body))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            # Signed, but of another API version or an unexpected shape.
            log.warning("payment_hook_unreadable", error=repr(error))
            return None

    def _check(self, body: bytes, signature: str, now: float) -> None:
        """Checks the signature of a webhook: `t=<seconds>,v1=<hex>`, with several `v1` while a secret is rotated.
        Raises BadSignature if no `v1` is right, or if the time is too far from `now` (in seconds since 1970).
        """
        parts = [part.strip().partition("=") for part in signature.split(",")]
        stamps = [value for name, _, value in parts if name == "t"]
        if not stamps or not (stamps[0].isascii() and stamps[0].isdigit()):
            raise BadSignature("no time")
        signed = f"{stamps[0]}.".encode() + body
        expected = hmac.new(self._settings.webhook_secret.encode(), signed, hashlib.sha256).hexdigest()
        given = [value for name, _, value in parts if name == "v1"]
        if not any(hmac.compare_digest(expected.encode(), value.encode()) for value in given):
            raise BadSignature("no such signature")
        if abs(now - int(stamps[0])) > self._settings.tolerance_seconds:
            raise BadSignature("too old")


def _notification(event: dict[str, Any]) -> Notification | None:
    """Returns what a Stripe event reports, or None if it is about something else. Raises ValueError, KeyError,
    TypeError or AttributeError for an unexpected format.
    """
    kind, thing = event["type"], event["data"]["object"]
    if kind in (_PAID, _FAILED):
        return _payment(thing)
    if kind in _PACK_SOLD:
        return _pack_sale(thing)
    if kind == _REFUNDED:
        return _refund(thing, int(event["created"]))
    return _dispute(thing, int(event["created"])) if kind in _DISPUTED else None


def _refund(charge: dict[str, Any], event_at: int) -> PaymentRefund | None:
    """Returns how much of a charge is refunded, read from Stripe's charge. Returns None for a charge without a
    PaymentIntent: we did not make it.
    """
    if charge["payment_intent"] is None:
        return None
    return PaymentRefund(
        payment_id=_id_of(charge["payment_intent"]),
        event_at=event_at,
        amount=int(charge.get("amount_captured") or charge["amount"]),
        refunded=int(charge["amount_refunded"]),
        currency=str(charge["currency"]),
    )


def _dispute(dispute: dict[str, Any], event_at: int) -> PaymentDispute | None:
    """Returns the state of a dispute, read from Stripe's dispute. Returns None if its charge has no PaymentIntent: we
    did not make that charge.
    """
    if dispute["payment_intent"] is None:
        return None
    return PaymentDispute(
        dispute_id=str(dispute["id"]),
        payment_id=_id_of(dispute["payment_intent"]),
        event_at=event_at,
        amount=int(dispute["amount"]),
        currency=str(dispute["currency"]),
        status=str(dispute["status"]),
    )


def _id_of(thing: str | dict[str, Any]) -> str:
    """Returns the id of a referenced object. Stripe shows either the id alone or the whole object."""
    return thing if isinstance(thing, str) else str(thing["id"])


def _intent(answer: dict[str, Any]) -> PaymentOutcome:
    """Returns the outcome of a payment, read from an answer of Stripe that must be a PaymentIntent. Raises
    OutcomeUnknown for any other answer.
    """
    if not isinstance(answer.get("id"), str):
        raise OutcomeUnknown("no payment")
    return _payment(answer)


def _payment(intent: dict[str, Any]) -> PaymentOutcome:
    """Returns the outcome of a payment, read from a PaymentIntent. A payment that waits for the absent customer counts
    as failed.
    """
    state = _STATES.get(str(intent.get("status")), PaymentState.FAILED)
    failure = intent.get("last_payment_error") or {}
    return PaymentOutcome(
        state=state,
        payment_id=str(intent["id"]),
        error=_reason(failure, str(intent.get("status"))) if state is PaymentState.FAILED else None,
        order_id=str((intent.get("metadata") or {}).get("refill_id", "")),
        paid_cents=int(intent.get("amount_received") or 0),
    )


def _refused(status: int, answer: dict[str, Any]) -> PaymentOutcome:
    error = answer.get("error") or {}
    intent = error.get("payment_intent") or {}
    return PaymentOutcome(
        state=PaymentState.FAILED,
        payment_id=intent.get("id"),
        error=_reason(error, f"HTTP {status}"),
    )


def _reason(failure: dict[str, Any], otherwise: str) -> str:
    reason = str(failure.get("decline_code") or failure.get("code") or failure.get("type") or otherwise)
    return reason if failure.get("type", "card_error") == "card_error" else INVALID_REQUEST + reason


def _pack_sale(session: dict[str, Any]) -> PackSale | None:
    """Returns the sale of a pack, read from Stripe's checkout session. Returns None if the checkout is not paid, or was
    not begun with one of our payment links (they set `metadata[credits]`).
    """
    account_id = session.get("client_reference_id")
    size = str((session.get("metadata") or {}).get("credits", ""))
    if session.get("payment_status") != "paid" or not account_id or not (size.isascii() and size.isdigit()):
        return None
    intent = session.get("payment_intent")
    return PackSale(
        sale_id=str(session["id"]),
        account_id=str(account_id),
        credits=int(size),
        payment_id=None if intent is None else _id_of(intent),
        amount=int(session.get("amount_total") or 0),
        currency=str(session.get("currency") or "usd"),
    )
