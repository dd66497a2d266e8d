"""Ends a page's connection to its platform: marks the page as expired and tells its owner once (event page.expired)."""

from chassis.bus.outbox import stage
from contracts.events import PageExpired
from contracts.publishing import PostError
from publishing.context import AppContext
from publishing.platforms.base import PlatformRefusal, Refusal
from publishing.records import Expired, PageRow
from publishing.store import Connection
from publishing.store.pages import Pages


def expiry_in(app: AppContext, page: PageRow, refusal: PlatformRefusal | None) -> Expired | None:
    """Returns the record of the page's expiry if the refusal says that its connection has ended; otherwise None."""
    if refusal is None or refusal.kind is not Refusal.EXPIRED:
        return None
    return Expired(page, refusal.code, refusal.message, app.reconnect_url(page.id))


def note_expiry(app: AppContext, page: PageRow, refusal: PlatformRefusal) -> None:
    """Marks the page as expired if the refusal says that its connection has ended."""
    found = expiry_in(app, page, refusal)
    if found is not None:
        with app.database.transaction() as connection:
            expire(connection, found)


def expire(connection: Connection, found: Expired) -> PageRow | None:
    """Marks the page as expired and stages page.expired. Returns the page.

    Returns None if the page is expired already. Also returns None if the page has new credentials by now, because the
    platform refused only the old ones.
    """
    page = Pages(connection).expire(found.page)
    if page is not None:
        data = PageExpired(
            user_id=page.account_id,
            brand_id=page.brand_id,
            page=page.view(),
            error=PostError(code=found.code, message=found.message),
            reconnect_url=found.reconnect_url,
        )
        stage(connection, "page.expired", data, account_id=page.account_id, brand_id=page.brand_id)
    return page
