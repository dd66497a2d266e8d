"""Helpers for several screens: linked pages and brands by id, times in a brand's zone, the filters of lists, and the
text for a person who has tried something too often.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any, TypeVar

from flask import g, request

from dashboard import api, dates, times, words
from dashboard.kept import forget, kept
from posthaste import Posthaste
from posthaste.errors import LimitReached
from posthaste.records import BrandInList, LastRefusal, Page

T = TypeVar("T")

#: How long a screen may show names and zones that another one read.
_PAGES_SECONDS, _BRANDS_SECONDS = 60.0, 120.0
#: As the API takes it.
_SHORTEST_SEARCH, _LONGEST_SEARCH = 2, 100
#: The API lists at most so many at once.
_AT_ONCE = 100


def by_name(page: Page) -> tuple[str, str]:
    """Returns the key by which linked pages are sorted on every screen: name in lower case, then platform."""
    return page.name.lower(), page.platform


def shut_out(page: Page) -> LastRefusal | None:
    """Returns the last refusal of a post on this page, if it shows that the platform no longer gives Posthaste access,
    for example because a permission was taken away. Then the person should look at the page's connection.

    Returns None for any other refusal, if there is none, and if the page's connection has expired.
    """
    found = page.last_refusal
    if page.expired or found is None or not words.is_about_access(found.code, found.message):
        return None
    return found


class Places:
    """The linked pages and the brands that the person may use, by id."""

    def __init__(self, pages: dict[str, Page], brands: dict[str, BrandInList]) -> None:
        self.pages, self.brands = pages, brands

    def page_name(self, page_id: str) -> str:
        page = self.pages.get(page_id)
        return page.name if page else "a page that was unlinked"

    def brand_name(self, brand_id: str) -> str:
        brand = self.brands.get(brand_id)
        return brand.name if brand else ""

    def zone(self, brand_id: str, otherwise: str = "UTC") -> str:
        """Returns the time zone of a brand, or `otherwise` if the brand is not among these."""
        brand = self.brands.get(brand_id)
        return brand.timezone if brand else otherwise

    def at(self, when: datetime, brand_id: str) -> str:
        """Returns a time in the brand's time zone as text, with the zone's name."""
        return f"{dates.shown(when, self.zone(brand_id))} {self.zone(brand_id)}"

    def one_zone(self, posts: Iterable[Any]) -> str:
        """Returns the time zone that all these posts' brands have; empty if they differ."""
        zones = {self.zone(it.brand_id) for it in posts}
        return zones.pop() if len(zones) == 1 else ""

    def by_day(self, posts: Iterable[T], at: str, now: datetime) -> list[tuple[str, list[T]]]:
        """Groups posts by day, in the given order: (heading of the day, its posts).

        Each day is a day in the time zone of the post's brand. `at`: the name of the posts' field with the time.
        """

        def heading(post: Any) -> str:
            there = times.zone_of(self.zone(post.brand_id))
            return dates.day_heading(getattr(post, at).astimezone(there).date(), now.astimezone(there).date())

        return [(day, list(found)) for day, found in groupby(posts, heading)]

    @property
    def brand_names(self) -> list[tuple[str, str]]:
        """Returns id and name of each brand, sorted by name."""
        return sorted(((it.id, it.name) for it in self.brands.values()), key=lambda it: it[1].lower())

    @property
    def by_brand(self) -> list[tuple[str, list[Page]]]:
        """Returns the brands' names with the linked pages of each, both sorted by name."""
        grouped: dict[str, list[Page]] = {}
        for page in sorted(self.pages.values(), key=lambda it: (it.brand_name.lower(), *by_name(it))):
            grouped.setdefault(page.brand_name, []).append(page)
        return list(grouped.items())


@dataclass(frozen=True)
class Filters:
    """The filters of a list of posts, from the query of the screen's URL. An empty filter lets every post through."""

    brand: str = ""
    page: str = ""
    platform: str = ""
    search: str = ""

    @classmethod
    def of_request(cls, places: Places) -> "Filters":
        asked = request.args
        brand, page, platform = (asked.get(name, "") for name in ("brand", "page", "platform"))
        known = places.pages.get(page)
        if known is not None and brand not in ("", known.brand_id):
            page = ""  # the brand was changed after the page had been chosen
        return cls(
            brand=brand if brand in places.brands else "",
            page=page,
            platform=platform if platform in words.PLATFORMS else "",
            search=search_text(),
        )

    @property
    def values(self) -> dict[str, Any]:
        """Returns the filters as parameters of a call of the API."""
        given = {
            "brand_id": self.brand,
            "page_id": self.page,
            "platform": self.platform,
            "search": self.search,
        }
        return {name: value for name, value in given.items() if value}

    @property
    def query(self) -> dict[str, str]:
        """Returns the filters as parameters of a URL of the dashboard."""
        return {name: value for name, value in vars(self).items() if value}

    def zone(self, places: Places) -> str:
        """Returns the time zone of the chosen page's brand, else of the chosen brand, else of the first brand, else of
        the person.
        """
        page = places.pages.get(self.page)
        brand_id = page.brand_id if page else self.brand or next(iter(places.brands), "")
        return places.zone(brand_id, g.dates.zone)


def search_text() -> str:
    """Returns the search text in the query of the screen's URL; empty if it is too short to search for."""
    search = " ".join(request.args.get("search", "").split())[:_LONGEST_SEARCH]
    return search if len(search) >= _SHORTEST_SEARCH else ""


def too_many_tries(error: LimitReached) -> str:
    """Returns the words for a person who tried too often to sign in or up, or to have a mail sent. Some of these limits
    end within the hour, others within a day."""
    minutes = math.ceil((error.retry_after_seconds or 3600) / 60)
    wait = (
        words.count(minutes, "minute", "minutes")
        if minutes <= 90
        else words.count(math.ceil(minutes / 60), "hour", "hours")
    )
    return f"Too many tries. Wait {wait}, then try again."


def recent_pages(client: Posthaste) -> Callable[[], dict[str, Page]]:
    """Returns a function that returns the linked pages of this session by id, as they were at most a minute ago."""
    return kept("pages", _PAGES_SECONDS, lambda: {it.id: it for it in client.iterate_pages(limit=_AT_ONCE)})


def recent_brands(client: Posthaste) -> Callable[[], dict[str, BrandInList]]:
    """Returns a function that returns the brands of this session by id, as they were at most two minutes ago."""
    return kept(
        "brands", _BRANDS_SECONDS, lambda: {it.id: it for it in client.iterate_brands(limit=_AT_ONCE)}
    )


def recent_places(client: Posthaste, *, with_new_pages: bool = False) -> Callable[[], Places]:
    """Returns a function that returns the linked pages and brands of this session. The brands may be two minutes old.
    The pages may be a minute old; with `with_new_pages` they are read anew.

    The function makes up to two calls of the API at the same time, and another call for each further hundred pages or
    brands. Use it only on screens that make another call of the API as well, because only a call notices that the
    session has ended.
    """
    if with_new_pages:
        forget("pages")
    both = api.side_by_side(recent_pages(client), recent_brands(client))
    return lambda: Places(*both())


def forget_places() -> None:
    """Forgets the linked pages and brands that are kept for this session, because one of them was changed."""
    forget("pages", "brands")
