"""Stripe's test cards, and how a charge of each ends when the customer is not present."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Decline:
    """The reason why a charge fails, in Stripe's codes."""

    code: str
    message: str
    decline_code: str | None = None


DECLINED = Decline("card_declined", "Your card was declined.", "generic_decline")

#: Id of a test card → the reason why its charges fail; None: they succeed (docs.stripe.com/testing).
CARDS: dict[str, Decline | None] = {
    "pm_card_visa": None,
    "pm_card_mastercard": None,
    "pm_card_chargeDeclined": DECLINED,
    "pm_card_visa_chargeDeclined": DECLINED,
    "pm_card_chargeDeclinedInsufficientFunds": Decline(
        "card_declined", "Your card has insufficient funds.", "insufficient_funds"
    ),
    "pm_card_chargeDeclinedExpiredCard": Decline("expired_card", "Your card has expired."),
    "pm_card_authenticationRequired": Decline(
        "authentication_required",
        "Your card was declined. This transaction requires authentication.",
        "authentication_required",
    ),
}


def payment_method(method_id: str, customer: str | None, created: int) -> dict[str, Any]:
    """Returns a card as the Stripe API shows it."""
    return {
        "id": method_id,
        "object": "payment_method",
        "type": "card",
        "card": {"brand": "visa", "last4": "4242", "exp_month": 8, "exp_year": 2040, "funding": "credit"},
        "customer": customer,
        "created": created,
        "livemode": False,
        "metadata": {},
    }
