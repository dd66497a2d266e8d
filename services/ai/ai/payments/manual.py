"""The payment provider `manual`, the default: no payments; the operator grants credits by hand (`credits grant`)."""

from datetime import datetime

from ai.payments.base import (
    BadSignature,
    Notification,
    Order,
    OutcomeUnknown,
    PaymentOutcome,
    PaymentProvider,
)


class Manual(PaymentProvider):
    """The payment provider that takes no payments and accepts no notifications."""

    available = False

    def pay(self, order: Order) -> PaymentOutcome:
        raise OutcomeUnknown("no payment provider is configured")

    def look_up(self, payment_id: str) -> PaymentOutcome:
        raise OutcomeUnknown("no payment provider is configured")

    def find(self, order_id: str) -> PaymentOutcome | None:
        raise OutcomeUnknown("no payment provider is configured")

    def read_hook(self, body: bytes, signature: str, now: datetime | None = None) -> Notification | None:
        raise BadSignature("no payment provider is configured")
