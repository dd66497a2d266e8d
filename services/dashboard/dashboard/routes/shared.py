"""What several screens need: pages and brands by id, times in a brand's zone, and messages after an action."""

import hashlib
import time
from collections.abc import Callable
from datetime import datetime

from flask import g

from dashboard import times
from posthaste import Posthaste
from posthaste.records import BrandInList, Page

#: How long a screen may show names and zones that it read before. Plans permit as little as ten calls of the API in a
#: minute, and most screens need the same two.
_KEPT_SECONDS, _MOST_KEPT = 30.0, 500
#: The API lists at most so many at once.
_AT_ONCE = 100


class Places:
    """The pages and brands that the person may use, by id. Two calls of the API, and one more for each
    further hundred.
    """

    def __init__(self, client: Posthaste) -> None:
        self.pages: dict[str, Page] = {it.id: it for it in client.iterate_pages(limit=_AT_ONCE)}
        self.brands: dict[str, BrandInList] = {it.id: it for it in client.iterate_brands(limit=_AT_ONCE)}

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


#: Session → when its places were read, and they.
_kept: dict[bytes, tuple[float, Places]] = {}


def recent_places(client: Posthaste) -> Callable[[], Places]:
    """Returns a call for the places of this session, as they are now or were half a minute ago.

    Only for screens that make another call of the API as well: it refuses a session that has ended.
    """
    session = _session()

    def find() -> Places:
        read_at, places = _kept.get(session, (0.0, None))
        if places is not None and time.monotonic() - read_at < _KEPT_SECONDS:
            return places
        places = Places(client)
        if len(_kept) >= _MOST_KEPT:
            _kept.clear()
        _kept[session] = time.monotonic(), places
        return places

    return find


def forget_places() -> None:
    """Makes the next screen of this session read its places anew, after they were changed."""
    _kept.pop(_session(), None)


def _session() -> bytes:
    return hashlib.sha256(g.session_token.encode()).digest()
