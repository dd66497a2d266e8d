"""A connection that a platform says is over: the page is marked once, and its owner told once (page.expired)."""

from typing import NamedTuple

from chassis.bus.outbox import stage
from contracts.events import PageExpired
from contracts.publishing import PostError
from publishing.records import PageRow
from publishing.store import Connection
from publishing.store.pages import Pages


class Expired(NamedTuple):
    """What showed it: the page with the credentials that were refused, and the platform's words."""

    page: PageRow
    code: str
    message: str
    reconnect_url: str


def expire(connection: Connection, found: Expired) -> PageRow | None:
    """None when it was known, or when the page has got other credentials meanwhile: an old word is no news."""
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
