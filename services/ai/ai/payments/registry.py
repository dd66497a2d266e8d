"""Chooses the payment provider."""

from ai.payments.base import PaymentProvider
from ai.payments.manual import Manual
from ai.payments.stripe import Stripe, StripeSettings
from chassis.config import ConfigError


def provider(name: str, stripe: StripeSettings) -> PaymentProvider:
    """Returns the payment provider `manual` or `stripe`. Raises ConfigError for another name or missing secrets."""
    if name == "manual":
        return Manual()
    if name != "stripe":
        raise ConfigError(f"PAYMENT_PROVIDER must be manual or stripe, not {name!r}")
    if not (stripe.secret_key and stripe.webhook_secret):
        raise ConfigError("STRIPE_SECRET_KEY and STRIPE_WEBHOOK_SECRET are not set")
    return Stripe(stripe)
