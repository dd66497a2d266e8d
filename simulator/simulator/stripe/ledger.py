"""Stripe's state: customers, cards, payments, and responses by idempotency key."""

import secrets
import threading
from dataclasses import dataclass
from typing import Any

from simulator.clock import Clock
from simulator.stripe.cards import CARDS, Decline, payment_method
from simulator.stripe.errors import StripeError, no_such

#: Answers are kept at least this long (docs.stripe.com, "Idempotent requests").
_KEY_SECONDS = 24 * 3600
#: Customers that are always there, with a Visa card: an id of this beginning needs no set-up. Our choice:
#: a demo has nobody who enters a card.
LOCAL_CUSTOMER = "cus_local"


@dataclass(slots=True)
class Kept:
    """The stored response to the first request with an idempotency key; None while that request runs."""

    request: tuple[str, Any]
    since: int
    answer: tuple[int, dict[str, Any]] | None = None


class Ledger:
    """The objects of one Stripe account. A reset deletes the payments; customers and cards stay."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self.customers: dict[str, dict[str, Any]] = {}
        #: Attached cards: id -> (customer, the test card it is).
        self.cards: dict[str, tuple[str, str]] = {}
        self.clear()

    def clear(self) -> None:
        """Deletes payments and idempotency keys."""
        with self._lock:
            self.intents: dict[str, dict[str, Any]] = {}
            self.keys: dict[str, Kept] = {}
            #: Payment -> the key it was made under, for GET /_sim/payments.
            self.key_of: dict[str, str | None] = {}

    def now(self) -> int:
        """Returns the present time in seconds since 1970."""
        return int(self._clock.now().timestamp())

    def claim(self, key: str, request: tuple[str, Any]) -> tuple[int, dict[str, Any]] | None:
        """Reserves an idempotency key and returns None, or returns the stored response of the key.

        Raises StripeError if a request with the key still runs, or if the key was used with another request.
        """
        with self._lock:
            kept = self.keys.get(key)
            if kept is None or self.now() - kept.since > _KEY_SECONDS:
                self.keys[key] = Kept(request, self.now())
                return None
        if kept.request != request:
            raise StripeError(400, "Keys for idempotent requests can only be used with the same parameters they "
                              f"were first used with. Try using a key other than '{key}' if you meant to execute "
                              "a different request.", kind="idempotency_error")  # fmt: skip
        if kept.answer is None:
            raise StripeError(409, "There is currently another in-progress request using this Idempotent Key "
                              f"({key}). Please try again later.", "idempotency_key_in_use",
                              kind="idempotency_error")  # fmt: skip
        return kept.answer

    def settle(self, key: str, answer: tuple[int, dict[str, Any]] | None) -> None:
        """Stores the response of a key. If `answer` is None, because the request did nothing, the key is free again."""
        with self._lock:
            if answer is None:
                self.keys.pop(key, None)
            elif key in self.keys:
                self.keys[key].answer = answer

    def customer(self, customer_id: str) -> dict[str, Any] | None:
        """Returns a customer, built-in ones included."""
        if customer_id.startswith(LOCAL_CUSTOMER) and customer_id not in self.customers:
            self.add_customer(customer_id, {})
            self.attach("pm_card_visa", customer_id)
        return self.customers.get(customer_id)

    def add_customer(self, customer_id: str | None, fields: dict[str, Any]) -> dict[str, Any]:
        """Adds a customer and returns it."""
        customer_id = customer_id or "cus_" + secrets.token_urlsafe(10).replace("-", "0").replace("_", "1")
        customer = {
            "id": customer_id, "object": "customer", "created": self.now(), "email": None, "name": None,
            "description": None, "livemode": False, "metadata": {},
            "invoice_settings": {"default_payment_method": None}, **fields,
        }  # fmt: skip
        self.customers[customer_id] = customer
        return customer

    def attach(self, method_id: str, customer_id: str) -> dict[str, Any]:
        """Attaches a copy of a test card to a customer and returns it. Raises StripeError if there is no such card."""
        if method_id not in CARDS:
            raise no_such("PaymentMethod", method_id, "payment_method", 404)
        own = "pm_" + secrets.token_hex(12)
        self.cards[own] = (customer_id, method_id)
        return payment_method(own, customer_id, self.now())

    def cards_of(self, customer_id: str) -> list[dict[str, Any]]:
        """Returns a customer's cards, newest first."""
        mine = [card_id for card_id, (owner, _) in self.cards.items() if owner == customer_id]
        return [payment_method(card_id, customer_id, self.now()) for card_id in reversed(mine)]

    def outcome(self, method_id: str, customer_id: str | None) -> Decline | None:
        """Returns why a charge on this card will fail; None if it will succeed.

        Raises StripeError for a card that cannot be charged at all.
        """
        owner, test_card = self.cards.get(method_id, (customer_id, method_id))
        if test_card not in CARDS:
            raise no_such("PaymentMethod", method_id, "payment_method")
        if owner != customer_id:
            raise StripeError(400, "The provided PaymentMethod cannot be used. It belongs to a different Customer "
                              "than the one on this PaymentIntent.", "payment_method_unexpected_state",
                              "payment_method")  # fmt: skip
        return CARDS[test_card]

    def add(self, intent: dict[str, Any], key: str | None) -> None:
        """Stores a payment."""
        with self._lock:
            self.intents[intent["id"]] = intent
            self.key_of[intent["id"]] = key

    def rows(self) -> list[dict[str, Any]]:
        """Returns the payments, oldest first."""
        with self._lock:
            return list(self.intents.values())
