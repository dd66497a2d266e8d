"""What a platform's refusal says of a page: that it has expired, or that the platform takes no calls for it now."""

import structlog

from contracts.platforms import DAY_SECONDS
from publishing.context import House
from publishing.pages.renewal import softened
from publishing.platforms.base import PlatformRefusal, Refusal
from publishing.records import PageRow
from publishing.store.pages import Pages

log = structlog.get_logger()


#: A limited page whose platform does not say for how long. Our choice.
_REST_SECONDS = 300.0


def note_refusal(house: House, page: PageRow, first: PlatformRefusal) -> PlatformRefusal:
    """What a refusal says of the page: that it has expired, or is to be left alone for a while. As it counts for us."""
    log.warning("page_refused", page_id=page.id, kind=first.kind, code=first.code)
    refusal = softened(house, page, first)
    house.note_expired(page, refusal)
    if refusal.kind is Refusal.RATE_LIMITED:
        with house.database.transaction() as connection:
            Pages(connection).rest(page.id, rest_seconds(refusal))
    return refusal


def rest_seconds(refusal: PlatformRefusal) -> float:
    """How long a limited page is left alone: as long as the platform says, up to a day (our choice)."""
    return min(refusal.wait_seconds or _REST_SECONDS, DAY_SECONDS)
