"""The credit balance as the plan tables give it (spec "AI credits"), until a service owns credits. Pure."""

from contracts.plans import PLANS
from contracts.quota import Usage
from gateway.views import AutoRefill, Cost, Credits, CreditsBalance, Pack

#: Spec "Limits", AI credits.
_COSTS = (
    Cost(action="caption", label="Caption", credits=1),
    Cost(action="image", label="Image", credits=10),
    Cost(action="image_edit", label="Image edit", credits=10),
    Cost(action="video", label="Video", credits=90),
)
#: Spec "AI credits" 3: refills of 500 to 5 000.
_REFILL_AMOUNTS = (500, 1_000, 2_500, 5_000)
_REFILL_UNIT = 500


def balance(tier: str, usage: Usage, pack_prices_usd: dict[str, str], dashboard_url: str) -> CreditsBalance:
    """A balance of which nothing is spent."""
    plan = PLANS[tier]
    prices = {int(size): float(price) for size, price in pack_prices_usd.items()}
    return CreditsBalance(
        credits=Credits(
            available=plan.plan_credits,
            plan=plan.credit_plan,
            plan_allowance=plan.plan_credits,
            plan_used=0,
            plan_remaining=plan.plan_credits,
            bonus=0,
            referral=0,
            next_reset_at=usage.resets_at,
        ),
        costs=_COSTS,
        packs=tuple(_pack(size, price) for size, price in sorted(prices.items())),
        auto_refill=AutoRefill(
            available=False,
            enabled=False,
            status="not_configured",
            threshold=None,
            amount=None,
            unit_credits=_REFILL_UNIT,
            unit_price_usd=prices.get(_REFILL_UNIT, 0.0),
            amounts=_REFILL_AMOUNTS,
        ),
        billing_url=f"{dashboard_url}/billing",
    )


def _pack(size: int, price_usd: float) -> Pack:
    return Pack(
        id=f"pack_{size}",
        name=f"{size:,} credits",
        credits=size,
        price_usd=price_usd,
        price_per_credit=round(price_usd / size, 4),
        available=False,  # decisions: while no payment provider is configured
    )
