"""Pages: accounts on platforms, each connected to a brand."""

from contracts.errors import (
    BRAND_NOT_AUTHORIZED,
    NOT_FOUND,
    PAGE_IN_USE,
    PLATFORM_ERROR,
    POST_IN_PROGRESS,
    UNSUPPORTED_PLATFORM,
)
from contracts.publishing import GetPage, ListPages, PageHealth, PageList, PageUnlinked, UnlinkPage
from gateway.endpoint import endpoint
from gateway.exchange import Exchange
from gateway.routes.filters import filtered
from gateway.routes.views import PageView

_REACH = (NOT_FOUND, BRAND_NOT_AUTHORIZED)
#: Covers a few calls to the platform, each of which may take some 10 s.
_PLATFORM_SECONDS = 40.0


@endpoint("GET", "/pages", scope="read:pages", meter="reads", errors=_REACH)
def list_pages(exchange: Exchange, request: ListPages) -> PageList:
    """List the pages that the token may use."""
    return exchange.relay(exchange.services.publishing.list_pages, filtered(exchange, request))


@endpoint("GET", "/pages/{id}", scope="read:pages", meter="reads", errors=_REACH)
def get_page(exchange: Exchange, request: GetPage) -> PageView:
    """Get a page."""
    return PageView(page=exchange.relay(exchange.services.publishing.get_page, request))


@endpoint(
    "POST", "/pages/{id}/check", scope="write:pages", meter="writes", deadline_seconds=_PLATFORM_SECONDS,
    errors=(*_REACH, UNSUPPORTED_PLATFORM, PLATFORM_ERROR),
)  # fmt: skip
def check_page(exchange: Exchange, request: GetPage) -> PageHealth:
    """Check whether a page's connection works, and which permissions it lacks."""
    return exchange.relay(exchange.services.publishing.check_page, request)


@endpoint(
    "DELETE", "/pages/{id}", scope="write:pages", meter="writes", errors=(*_REACH, PAGE_IN_USE, POST_IN_PROGRESS),
)  # fmt: skip
def unlink_page(exchange: Exchange, request: UnlinkPage) -> PageUnlinked:
    """Unlink a page and revoke its permissions at the platform."""
    return exchange.relay(exchange.services.publishing.unlink_page, request)
