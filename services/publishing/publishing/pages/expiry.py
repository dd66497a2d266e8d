"""The end of a page's connection: the page is marked once, and its owner is told once (event page.expired)."""

from typing import NamedTuple

from chassis.bus.outbox import stage
from contracts.events import PageExpired
from contracts.publishing import PostError
from publishing.context import AppContext
from publishing.platforms.base import PlatformRefusal, Refusal
from publishing.records import PageRow
from publishing.store import Connection
from publishing.store.pages import Pages


class Expired(NamedTuple):
    """A refusal that ended a connection: the page with the credentials that were refused, and the platform's words."""

    page: PageRow
    code: str
    message: str
    reconnect_url: str


def expiry_in(app: AppContext, page: PageRow, refusal: PlatformRefusal | None) -> Expired | None:
    """Returns the expiry that a refusal shows; None when it shows none."""
    if refusal is None or refusal.kind is not Refusal.EXPIRED:
        return None
    return Expired(page, refusal.code, refusal.message, app.reconnect_url(page.id))


def note_expiry(app: AppContext, page: PageRow, refusal: PlatformRefusal) -> None:
    """Marks the page if the refusal shows that its connection has ended."""
    found = expiry_in(app, page, refusal)
    if found is not None:
        with app.database.transaction() as connection:
            expire(connection, found)


def expire(connection: Connection, found: Expired) -> PageRow | None:
    """Marks the page as expired and stages page.expired.

    Returns None when the page was marked before, or when it has other credentials by now: a late refusal of the old
    ones says nothing about them.
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
