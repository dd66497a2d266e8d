"""Decides what a platform's refusal means for the page: its connection has ended, or it takes no calls for some
time."""

import structlog

from contracts.platforms import DAY_SECONDS
from publishing.context import AppContext
from publishing.pages.expiry import note_expiry
from publishing.pages.renewal import effective_refusal
from publishing.platforms.base import PlatformRefusal, Refusal
from publishing.records import PageRow
from publishing.store.pages import Pages

log = structlog.get_logger()


#: How long a rate-limited page is left alone if the platform does not say: platforms count calls over minutes (X: 15)
#: or an hour (Meta).
_REST_SECONDS = 300.0


def note_refusal(app: AppContext, page: PageRow, first: PlatformRefusal) -> PlatformRefusal:
    """Stores what a platform's refusal says about the page: that its credentials have expired, or for how long
    it takes no calls.

    Returns the refusal that the caller should act on: a temporary failure if the token has expired but can be renewed,
    otherwise `first`.
    """
    log.warning("page_refused", page_id=page.id, kind=first.kind, code=first.code)
    refusal = effective_refusal(app, page, first)
    note_expiry(app, page, refusal)
    if refusal.kind is Refusal.RATE_LIMITED:
        with app.database.transaction() as connection:
            Pages(connection).rest(page.id, rest_seconds(refusal))
    return refusal


def rest_seconds(refusal: PlatformRefusal) -> float:
    """Returns for how many seconds a rate-limited page gets no calls: as long as the platform says, but at most a day;
    five minutes if it does not say."""
    return min(refusal.wait_seconds or _REST_SECONDS, DAY_SECONDS)
