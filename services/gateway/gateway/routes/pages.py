"""Pages: the connected platform accounts."""

import msgspec

from contracts.errors import BRAND_NOT_AUTHORIZED, NOT_FOUND
from contracts.publishing import GetPage, ListPages, PageList
from gateway.endpoint import endpoint
from gateway.exchange import Exchange
from gateway.filters import check_brand, platform_code
from gateway.views import PageView

_REACH = (NOT_FOUND, BRAND_NOT_AUTHORIZED)


@endpoint(
    "GET", "/pages", scope="read:pages", meter="reads", request=ListPages, result=PageList, errors=_REACH
)
def list_pages(exchange: Exchange, request: ListPages) -> PageList:
    """Pages within the token's reach."""
    if request.platform is not None:
        request = msgspec.structs.replace(request, platform=platform_code(request.platform))
    if request.brand_id is not None:
        check_brand(exchange, request.brand_id, field="brand_id")
    return exchange.relay(exchange.house.publishing.list_pages, request)


@endpoint(
    "GET", "/pages/{id}", scope="read:pages", meter="reads", request=GetPage, result=PageView, errors=_REACH
)
def get_page(exchange: Exchange, request: GetPage) -> PageView:
    """One page."""
    return PageView(page=exchange.relay(exchange.house.publishing.get_page, request))
