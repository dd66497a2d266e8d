"""The interface of payment providers.

An order's id is its idempotency key: the same order may be sent again while its outcome is unknown, and is paid once.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

#: Begins the error of an order that reached no card, because something else in it was wrong: the customer or payment
#: method is unknown to the provider, or the key belongs to another account. The provider's own code follows.
INVALID_REQUEST = "invalid_request:"


class PaymentState(StrEnum):
    PAID = "paid"
    #: The payment was refused, and no money was taken.
    FAILED = "failed"
    #: The provider has received the payment and has not decided yet.
    PENDING = "pending"


@dataclass(frozen=True, slots=True)
class Order:
    """A payment to take from a customer, in US cents. Customer and payment method are the provider's ids."""

    id: str
    account_id: str
    price_cents: int
    customer: str
    payment_method: str


@dataclass(frozen=True, slots=True)
class PaymentOutcome:
    """The result of an order at the payment provider. `order_id` is empty if the provider does not name the order."""

    state: PaymentState
    payment_id: str | None = None
    error: str | None = None
    order_id: str = ""
    paid_cents: int = 0


@dataclass(frozen=True, slots=True)
class PackSale:
    """The sale of a pack of credits through its payment link. `sale_id` is unique; `amount` is in the currency's
    smallest unit; `payment_id` is None when nothing had to be paid."""

    sale_id: str
    account_id: str
    credits: int
    payment_id: str | None = None
    amount: int = 0
    currency: str = "usd"


@dataclass(frozen=True, slots=True)
class PaymentRefund:
    """How much of a payment has been refunded so far. `refunded`: the sum of all refunds; `amount`: the whole payment;
    both in the currency's smallest unit.

    `event_at` is the provider's time in seconds. An older event does not replace a newer one.
    """

    payment_id: str
    event_at: int
    amount: int
    refunded: int
    currency: str


@dataclass(frozen=True, slots=True)
class PaymentDispute:
    """The state of a dispute of a payment. `status` is in Stripe's words; `amount` is in the currency's smallest unit;
    `event_at` is the provider's time in seconds."""

    dispute_id: str
    payment_id: str
    event_at: int
    amount: int
    currency: str
    status: str


#: What a notification of the payment provider may report.
Notification = PaymentOutcome | PackSale | PaymentRefund | PaymentDispute


class OutcomeUnknown(Exception):
    """Raised when the payment provider gave no usable answer, so that it is unknown whether a payment was made. The
    same order may be sent again.
    """


class AnswerReplayed(OutcomeUnknown):
    """Raised when the provider did nothing, because it had received an order with this id before. Either it repeated
    its earlier failure, or the order's values have changed since. Search for the payment, and do not send the order
    again.
    """


class BadSignature(Exception):
    """Raised when a notification is not signed by the payment provider, or is too old."""


class PaymentProvider(ABC):
    """The interface to one payment provider. Thread-safe: one object serves all orders."""

    #: Whether the provider can take payments at all.
    available: bool = True

    @abstractmethod
    def pay(self, order: Order) -> PaymentOutcome:
        """Takes the money of an order with the customer's stored payment method, while the customer is absent. Raises
        OutcomeUnknown if no usable answer comes.
        """

    @abstractmethod
    def look_up(self, payment_id: str) -> PaymentOutcome:
        """Returns the present state of a payment whose id the provider has told us. Raises OutcomeUnknown if no usable
        answer comes.
        """

    @abstractmethod
    def find(self, order_id: str) -> PaymentOutcome | None:
        """Searches, by the order's id, for the payment of an order that must not be sent again. Returns None if the
        provider shows none.

        Raises OutcomeUnknown if no usable answer comes.
        """

    @abstractmethod
    def read_hook(self, body: bytes, signature: str, now: datetime | None = None) -> Notification | None:
        """Returns what a notification of the payment provider reports, or None if it is about something else or cannot
        be read.

        The notification's age is measured from `now`, by default this machine's clock. Raises BadSignature if it is too
        old or not signed by the provider.
        """
