"""No payments: an operator grants credits by hand (`credits grant`). The embedded default."""

from datetime import datetime

from ai.payments.base import BadSignature, Order, OutcomeUnknown, Payment, PaymentProvider, Told


class Manual(PaymentProvider):
    """Takes nothing, knows nothing, and nobody may speak in its name."""

    available = False

    def pay(self, order: Order) -> Payment:
        raise OutcomeUnknown("no payment provider is configured")

    def look_up(self, payment_id: str) -> Payment:
        raise OutcomeUnknown("no payment provider is configured")

    def find(self, order_id: str) -> Payment | None:
        raise OutcomeUnknown("no payment provider is configured")

    def read_hook(self, body: bytes, signature: str, now: datetime | None = None) -> Told | None:
        raise BadSignature("no payment provider is configured")
