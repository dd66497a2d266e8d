"""What an account is offered to buy: packs, and how its auto-refill stands. Pure."""

from urllib.parse import quote

from ai.rules.prices import REFILL_AMOUNTS, REFILL_UNIT, CreditSettings
from ai.store.refills import Refill, Wish
from contracts.ai import AutoRefill, Pack


def packs(settings: CreditSettings, account_id: str, *, offered: bool) -> tuple[Pack, ...]:
    """The packs by size. One is available when payments are taken and it has a link (decisions "Packs").

    `offered`: whether this account may buy at all.
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


def auto_refill(settings: CreditSettings, wish: Wish | None, newest: Refill | None) -> AutoRefill:
    """The account's wish, and what became of the newest refill."""
    return AutoRefill(
        available=settings.takes_payments,
        enabled=wish is not None and wish.enabled,
        status=_status(settings, wish, newest),
        threshold=wish.threshold if wish else None,
        amount=wish.credits if wish else None,
        unit_credits=REFILL_UNIT,
        unit_price_usd=settings.refill_unit_price_usd,
        amounts=REFILL_AMOUNTS,
    )


def _status(settings: CreditSettings, wish: Wish | None, newest: Refill | None) -> str:
    """Our choice: the first of these that holds."""
    if not settings.takes_payments:
        return "not_configured"
    if wish is None or not wish.enabled:
        return "off"
    if not (wish.customer and wish.payment_method):
        return "no_payment_method"
    if newest is None or newest.state == "paid":
        return "active"
    return "pending" if newest.state == "open" else "payment_failed"
