"""A fake payment provider that does what the test says."""

from collections.abc import Callable
from datetime import datetime

from ai.payments.base import (
    AnswerReplayed,
    Notification,
    Order,
    OutcomeUnknown,
    PaymentOutcome,
    PaymentProvider,
    PaymentState,
)


class FakePaymentProvider(PaymentProvider):
    """A payment provider that pays, declines or gives no answer, as `mood` says. `burn` is called before and after
    each payment and may end the simulated process there.
    """

    def __init__(self, burn: Callable[[], None] = lambda: None) -> None:
        self.orders: dict[str, Order] = {}
        self.states: dict[str, PaymentState] = {}
        self.mood = "paid"
        self._burn = burn

    def pay(self, order: Order) -> PaymentOutcome:
        self._burn()
        if self.mood == "unheard":
            raise OutcomeUnknown
        if self.mood == "stuck":
            raise AnswerReplayed
        assert self.orders.setdefault(order.id, order) == order  # a repeated key must have the same values
        wanted = PaymentState.PAID if self.mood == "silent" else PaymentState(self.mood)
        self.states.setdefault(order.id, wanted)
        self._burn()
        return self._request(order.id)

    def look_up(self, payment_id: str) -> PaymentOutcome:
        return self._request(payment_id.removeprefix("pi_"))

    def find(self, order_id: str) -> PaymentOutcome | None:
        return self._request(order_id) if order_id in self.states else None

    def read_hook(self, body: bytes, signature: str, now: datetime | None = None) -> Notification | None:
        return self.payment(body.decode())

    def _request(self, order_id: str) -> PaymentOutcome:
        if self.mood == "silent":
            raise OutcomeUnknown
        return self.payment(order_id)

    def payment(self, order_id: str) -> PaymentOutcome:
        state, cents = self.states[order_id], self.orders[order_id].price_cents
        return PaymentOutcome(
            state, f"pi_{order_id}", None, order_id, cents if state is PaymentState.PAID else 0
        )
