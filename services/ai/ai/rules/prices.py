"""The prices of actions, packs and refills."""

from collections.abc import Mapping

from msgspec import field

from contracts.ai import Cost
from contracts.record import Record

CAPTION, IMAGE, IMAGE_EDIT, VIDEO = "caption", "image", "image_edit", "video"
#: Spec "Limits", AI credits. The spec names no labels.
COSTS = (
    Cost(action=CAPTION, label="Caption", credits=1),
    Cost(action=IMAGE, label="Image", credits=10),
    Cost(action=IMAGE_EDIT, label="Image edit", credits=10),
    Cost(action=VIDEO, label="Video", credits=90),
)
COST_OF: Mapping[str, int] = {cost.action: cost.credits for cost in COSTS}

#: Spec "AI credits" 3: refills of 500 to 5,000. Steps of 500, our choice: an operator sets one price, for each step.
REFILL_UNIT = 500
REFILL_AMOUNTS = tuple(range(REFILL_UNIT, 5_000 + 1, REFILL_UNIT))
#: Spec "AI credits" 3. Our choice: days are UTC days, as for all counters, and a refused payment counts too, so that a
#: card is not charged again and again.
REFILLS_PER_DAY = 5
REFILL_GAP_SECONDS = 600
#: Pack sizes: decisions "Packs". Prices in US dollars, our choice: credits are cheaper in larger packs. The
#: setting PACK_PRICES_USD replaces them.
PACK_PRICES_USD: Mapping[int, float] = {500: 9.0, 1_500: 25.0, 5_000: 79.0, 15_000: 199.0}


class CreditSettings(Record):
    """The prices of credits on this installation, in US dollars, and the addresses at which they are bought."""

    #: The price of each pack, by its size in credits.
    pack_prices_usd: Mapping[int, float] = field(default_factory=lambda: dict(PACK_PRICES_USD))
    #: The payment link of each pack, by its size. `?client_reference_id=<account>` is appended.
    pack_links: Mapping[int, str] = {}
    #: The price of REFILL_UNIT credits.
    refill_unit_price_usd: float = 9.0
    #: manual or stripe: see `payments/`.
    payment_provider: str = "manual"
    billing_url: str = "http://localhost:8000/dashboard/billing"
    packs_url: str = "http://localhost:8000/dashboard/billing/packs"
    auto_refill_url: str = "http://localhost:8000/dashboard/billing/auto-refill"

    @property
    def takes_payments(self) -> bool:
        """Whether customers can pay by themselves, without the operator."""
        return self.payment_provider != "manual"
