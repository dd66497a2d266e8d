"""Handles notifications of the payment provider: payments, pack sales, refunds and disputes."""

import structlog

from ai.credits import clawbacks
from ai.credits.auto_refill import settle
from ai.credits.balances import give
from ai.payments.base import BadSignature, PackSale, PaymentDispute, PaymentProvider, PaymentRefund
from ai.rules.prices import CreditSettings
from ai.store.payments import Payments
from chassis.db import clock
from chassis.db.database import Database
from contracts import errors
from contracts.ai import PaymentHook

log = structlog.get_logger()


def receive(
    database: Database, settings: CreditSettings, payments: PaymentProvider, request: PaymentHook
) -> None:
    """Handles one notification of the payment provider. Notifications about something else are accepted and ignored.

    Raises ApiError VALIDATION_ERROR for a notification that the configured provider has not signed.
    """
    if request.provider != settings.payment_provider:
        raise errors.invalid("provider", "is not configured")
    with database.reading() as connection:
        now = clock.now(connection)
    try:
        notification = payments.read_hook(request.body.encode(), request.signature, now)
    except BadSignature as error:
        log.warning("payment_hook_refused", reason=str(error))
        raise errors.invalid("signature", "is not valid") from None
    if isinstance(notification, PackSale):
        sell_pack(database, settings, notification)
    elif isinstance(notification, PaymentRefund | PaymentDispute):
        clawbacks.apply_notification(database, notification)
    elif notification is not None and notification.order_id:
        with database.transaction() as connection:
            adjusted = settle(connection, notification.order_id, notification)
        clawbacks.announce(adjusted)


def sell_pack(database: Database, settings: CreditSettings, sale: PackSale) -> None:
    """Gives an account the credits of a pack that was bought through a payment link, once per sale. If the settings
    have no payment link for a pack of this size, gives nothing and logs an error.
    """
    if sale.credits not in settings.pack_links:
        log.error("pack_unknown", sale_id=sale.sale_id, credits=sale.credits)
        return
    adjusted = None
    with database.transaction() as connection:
        payments = Payments(connection)
        if sale.payment_id is not None:
            payments.lock(sale.payment_id)
        give(connection, sale.account_id, "purchase", sale.sale_id, sale.credits)
        if sale.payment_id is not None:
            payments.note_purchase(sale.payment_id, sale.account_id, sale.credits, sale.amount, sale.currency)
            adjusted = clawbacks.adjust(connection, sale.payment_id)
    clawbacks.announce(adjusted)
