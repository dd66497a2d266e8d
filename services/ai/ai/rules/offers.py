"""Shows what an account can buy: packs of credits, and the state of its auto-refill. Pure."""

from urllib.parse import quote

from ai.records import AutoRefillSettings, Refill
from ai.rules.prices import REFILL_AMOUNTS, REFILL_UNIT, CreditSettings
from contracts.ai import AutoRefill, Pack


def packs(settings: CreditSettings, account_id: str, *, offered: bool) -> tuple[Pack, ...]:
    """Returns the packs of credits, the smallest first (docs/decisions.md, "Packs").

    A pack is marked as available if payments are configured, this account may buy (`offered`) and the pack has a
    payment link.
    """
    links = settings.pack_links if settings.takes_payments and offered else {}
    return tuple(
        _pack(settings, account_id, size, links.get(size)) for size in sorted(settings.pack_prices_usd)
    )


def _pack(settings: CreditSettings, account_id: str, size: int, link: str | None) -> Pack:
    price_usd = settings.pack_prices_usd[size]
    return Pack(
        id=f"pack_{size}",
        name=f"{size:,} credits",
        credits=size,
        price_usd=price_usd,
        price_per_credit=round(price_usd / size, 4),
        available=link is not None,
        url=None if link is None else f"{link}?client_reference_id={quote(account_id)}",
    )


def auto_refill(
    settings: CreditSettings, settings_row: AutoRefillSettings | None, newest: Refill | None
) -> AutoRefill:
    """Returns the account's auto-refill as clients see it: its settings, prices, and the status that follows from the
    newest refill.
    """
    return AutoRefill(
        available=settings.takes_payments,
        enabled=settings_row is not None and settings_row.enabled,
        status=_status(settings, settings_row, newest),
        threshold=settings_row.threshold if settings_row else None,
        amount=settings_row.credits if settings_row else None,
        unit_credits=REFILL_UNIT,
        unit_price_usd=settings.refill_unit_price_usd,
        amounts=REFILL_AMOUNTS,
    )


def _status(settings: CreditSettings, settings_row: AutoRefillSettings | None, newest: Refill | None) -> str:
    """Returns the status of auto-refill: the first reason why it cannot run, otherwise the state of the last
    payment."""
    if not settings.takes_payments:
        return "not_configured"
    if settings_row is None or not settings_row.enabled:
        return "off"
    if not (settings_row.customer and settings_row.payment_method):
        return "no_payment_method"
    if newest is None or newest.state == "paid":
        return "active"
    return "pending" if newest.state == "open" else "payment_failed"
