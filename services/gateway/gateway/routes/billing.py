"""The account's plan, packs of AI credits, and auto-refill."""

from contracts.ai import AutoRefill, EditAutoRefill
from contracts.errors import BRAND_NOT_AUTHORIZED, EMAIL_NOT_VERIFIED
from contracts.record import Nothing
from gateway.endpoint import endpoint
from gateway.exchange import Exchange
from gateway.routes import views


@endpoint("GET", "/billing", scope="read:account", meter="reads")
def get_billing(exchange: Exchange, _request: Nothing) -> views.Billing:
    """Get the plan, the AI credits, the packs for sale with their payment links, and auto-refill."""
    balance = exchange.ask(exchange.services.ai.get_credits, Nothing())
    return views.Billing(
        tier=exchange.caller.tier,
        credits=balance.credits,
        packs=balance.packs,
        auto_refill=balance.auto_refill,
        billing_url=balance.billing_url,
    )


@endpoint("GET", "/billing/auto-refill", scope="read:account", meter="reads")
def get_auto_refill(exchange: Exchange, _request: Nothing) -> AutoRefill:
    """Get whether AI credits are bought when few are left, and the state of the last payment."""
    return exchange.ask(exchange.services.ai.get_credits, Nothing()).auto_refill


@endpoint(
    "PUT", "/billing/auto-refill", scope="manage:account", meter="writes",
    errors=(BRAND_NOT_AUTHORIZED, EMAIL_NOT_VERIFIED),
)  # fmt: skip
def edit_auto_refill(exchange: Exchange, request: EditAutoRefill) -> AutoRefill:
    """Turn auto-refill on or off, and set when and how many AI credits are bought."""
    return exchange.ask(exchange.services.ai.edit_auto_refill, request).auto_refill
