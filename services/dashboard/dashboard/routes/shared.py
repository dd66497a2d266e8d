"""What several screens need: pages and brands by id, times in a brand's zone, and messages after an action."""

from datetime import datetime

from dashboard import times
from posthaste import Posthaste
from posthaste.records import BrandInList, Page

#: Enough for every account; the API lists at most so many at once.
_MOST = 100


class Places:
    """The pages and brands that the person may use, by id. Two calls of the API."""

    def __init__(self, client: Posthaste) -> None:
        self.pages: dict[str, Page] = {it.id: it for it in client.list_pages(limit=_MOST).pages}
        self.brands: dict[str, BrandInList] = {it.id: it for it in client.list_brands(limit=_MOST).brands}

    def page_name(self, page_id: str) -> str:
        page = self.pages.get(page_id)
        return page.name if page else "a page that was unlinked"

    def brand_name(self, brand_id: str) -> str:
        brand = self.brands.get(brand_id)
        return brand.name if brand else ""

    def zone(self, brand_id: str) -> str:
        brand = self.brands.get(brand_id)
        return brand.timezone if brand else "UTC"

    def at(self, when: datetime, brand_id: str) -> str:
        """Returns a time in the brand's zone, with the zone's name."""
        return f"{times.shown(when, self.zone(brand_id))} {self.zone(brand_id)}"

    @property
    def by_brand(self) -> list[tuple[str, list[Page]]]:
        """The pages of each brand, both by name."""
        grouped: dict[str, list[Page]] = {}
        for page in sorted(self.pages.values(), key=lambda it: (it.brand_name.lower(), it.platform, it.name)):
            grouped.setdefault(page.brand_name, []).append(page)
        return list(grouped.items())
