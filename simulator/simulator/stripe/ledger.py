"""Stripe's state: customers, cards, payments, and responses by idempotency key."""

import secrets
import threading
from dataclasses import dataclass
from typing import Any

from simulator.clock import Clock
from simulator.stripe.cards import CARDS, Decline, payment_method
from simulator.stripe.errors import StripeError, no_such

#: How long responses are stored under their idempotency keys (docs.stripe.com, "Idempotent requests": at least 24
#: hours).
_KEY_SECONDS = 24 * 3600
#: Beginning of the ids of customers that exist without being created, each with a Visa card. Our choice: nobody can
#: enter a card in a demo.
LOCAL_CUSTOMER = "cus_local"


@dataclass(slots=True)
class Kept:
    """The response that is stored under an idempotency key. `answer` is None while the first request with the key
    runs.
    """

    request: tuple[str, Any]
    since: int
    answer: tuple[int, dict[str, Any]] | None = None


class Ledger:
    """The customers, cards and payments of one Stripe account, and the responses stored by idempotency key."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self.customers: dict[str, dict[str, Any]] = {}
        #: Id of an attached card → its customer and the test card of which it is a copy.
        self.cards: dict[str, tuple[str, str]] = {}
        self.clear()

    def clear(self) -> None:
        """Deletes payments and idempotency keys. Customers and cards stay."""
        with self._lock:
            self.intents: dict[str, dict[str, Any]] = {}
            self.keys: dict[str, Kept] = {}
            #: Payment id → idempotency key of the request that created the payment, for GET /_sim/payments.
            self.key_of: dict[str, str | None] = {}

    def now(self) -> int:
        """Returns the present time in seconds since 1970."""
        return int(self._clock.now().timestamp())

    def claim(self, key: str, request: tuple[str, Any]) -> tuple[int, dict[str, Any]] | None:
        """Reserves an idempotency key and returns None, or returns the response that is stored under the key.

        Raises StripeError if the first request with the key is still running, or was a different request.
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
        """Stores the response under a reserved key. If `answer` is None (the request had no effect), frees the key."""
        with self._lock:
            if answer is None:
                self.keys.pop(key, None)
            elif key in self.keys:
                self.keys[key].answer = answer

    def customer(self, customer_id: str) -> dict[str, Any] | None:
        """Returns a customer, or None if there is none. An unknown id that begins with `cus_local` is no error: the
        customer is then created, with a Visa card.
        """
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
        """Attaches a copy of a test card to a customer and returns the copy. Raises StripeError if there is no such
        test card.
        """
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
        """Returns the reason why a charge on this card will fail; None if it will succeed.

        Raises StripeError if there is no such card, or if it belongs to another customer.
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
        """Stores a payment, with the idempotency key of the request that created it."""
        with self._lock:
            self.intents[intent["id"]] = intent
            self.key_of[intent["id"]] = key

    def rows(self) -> list[dict[str, Any]]:
        """Returns the payments, oldest first."""
        with self._lock:
            return list(self.intents.values())
