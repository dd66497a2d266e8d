"""What the service asks of a payment provider, and what it may answer.

A payment is asked for by an order whose id is the idempotency key: the same order may be sent again whenever its
outcome is not known, and is paid once.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

#: How the error begins of an order that came to no card, since something else in it was wrong: the customer or the
#: way to pay is not the provider's, the key is another account's. The provider's own code follows.
INVALID_REQUEST = "invalid_request:"


class PaymentState(StrEnum):
    PAID = "paid"
    #: It was refused, and nothing was taken.
    FAILED = "failed"
    #: The provider has it and has not decided yet.
    PENDING = "pending"


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be paid, in cents of a US dollar, and by whom in the provider's own names."""

    id: str
    account_id: str
    price_cents: int
    customer: str
    payment_method: str


@dataclass(frozen=True, slots=True)
class Payment:
    """What became of an order. `order_id` is empty where the provider does not repeat it."""

    state: PaymentState
    payment_id: str | None = None
    error: str | None = None
    order_id: str = ""
    paid_cents: int = 0


@dataclass(frozen=True, slots=True)
class PackSale:
    """A pack somebody bought by its payment link; `sale_id` is unique. Without a payment (nothing was to be paid)
    `payment_id` is None. `amount` in the currency's smallest unit.
    """

    sale_id: str
    account_id: str
    credits: int
    payment_id: str | None = None
    amount: int = 0
    currency: str = "usd"


@dataclass(frozen=True, slots=True)
class PaymentRefund:
    """How much of a payment has been refunded by now, all refunds together; in the currency's smallest unit.

    `told_at`: when the provider said so, in its own seconds; an older word does not count against a newer one.
    """

    payment_id: str
    told_at: int
    amount: int
    refunded: int
    currency: str


@dataclass(frozen=True, slots=True)
class PaymentDispute:
    """How a dispute of a payment stands; `status` is Stripe's word, `told_at` and `amount` as in PaymentRefund."""

    dispute_id: str
    payment_id: str
    told_at: int
    amount: int
    currency: str
    status: str


#: What a provider's own call may be about.
Told = Payment | PackSale | PaymentRefund | PaymentDispute


class OutcomeUnknown(Exception):
    """No usable answer came: ask again, with the same order."""


class AnswerKept(OutcomeUnknown):
    """The same order will be told nothing else any more (the provider failed once): look for it instead."""


class BadSignature(Exception):
    """A call that says it is the provider's, and is not, or is too old."""


class PaymentProvider(ABC):
    """Thread-safe: one object serves all orders."""

    #: Whether it can take payments at all.
    available: bool = True

    @abstractmethod
    def pay(self, order: Order) -> Payment:
        """Take the money without the customer present. Raises OutcomeUnknown."""

    @abstractmethod
    def look_up(self, payment_id: str) -> Payment:
        """What became of a payment. Raises OutcomeUnknown."""

    @abstractmethod
    def find(self, order_id: str) -> Payment | None:
        """What became of an order that is too old to be sent again; None: it never came in. Raises OutcomeUnknown."""

    @abstractmethod
    def read_hook(self, body: bytes, signature: str, now: datetime | None = None) -> Told | None:
        """What the provider's own call says; None when it is about something else. Raises BadSignature.

        Its age is judged by `now`, without it by this machine's clock.
        """
