"""What several screens need: pages and brands by id, times in a brand's zone, and messages after an action."""

from collections.abc import Callable
from datetime import datetime

from dashboard import times
from dashboard.kept import forget, kept
from posthaste import Posthaste
from posthaste.records import BrandInList, Page

#: How long a screen may show names and zones that another one read.
_PAGES_SECONDS, _BRANDS_SECONDS = 60.0, 120.0
#: The API lists at most so many at once.
_AT_ONCE = 100


class Places:
    """The pages and brands that the person may use, by id."""

    def __init__(self, pages: dict[str, Page], brands: dict[str, BrandInList]) -> None:
        self.pages, self.brands = pages, brands

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


def recent_brands(client: Posthaste) -> Callable[[], dict[str, BrandInList]]:
    """Returns a call for the brands of this session by id, as they were at most two minutes ago."""
    return kept(
        "brands", _BRANDS_SECONDS, lambda: {it.id: it for it in client.iterate_brands(limit=_AT_ONCE)}
    )


def recent_places(client: Posthaste, *, with_new_pages: bool = False) -> Callable[[], Places]:
    """Returns a call for the places of this session: pages as they were at most a minute ago, or as they are now.

    It makes up to two calls of the API, and one more for each further hundred. Only for screens that make another call
    as well: it refuses a session that has ended.
    """
    if with_new_pages:
        forget("pages")
    pages = kept("pages", _PAGES_SECONDS, lambda: {it.id: it for it in client.iterate_pages(limit=_AT_ONCE)})
    brands = recent_brands(client)
    return lambda: Places(pages(), brands())


def forget_places() -> None:
    """Makes the next screen of this session read its places anew, after they were changed."""
    forget("pages", "brands")
