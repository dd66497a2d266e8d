"""Brands and their pages."""

import msgspec

from contracts.accounts import GetBrand, ListBrands
from contracts.errors import BRAND_NOT_AUTHORIZED, NOT_FOUND
from contracts.platforms import PlatformName
from contracts.publishing import CountPages, Limit, ListPages, Page, PageList
from contracts.record import Record
from gateway.endpoint import endpoint
from gateway.exchange import Exchange
from gateway.routes.filters import check_brand, platform_code
from gateway.routes.views import BrandInList, BrandListView, BrandView, BrandWithPages

_REACH = (NOT_FOUND, BRAND_NOT_AUTHORIZED)
_MOST_PAGES_AT_ONCE = 100


class BrandQuery(Record):
    limit: Limit = 50
    cursor: str | None = None


class BrandPath(Record):
    id: str


class BrandPagesQuery(Record):
    id: str
    platform: PlatformName | None = None
    limit: Limit = 50
    cursor: str | None = None


@endpoint("GET", "/brands", scope="read:brands", meter="reads")
def list_brands(exchange: Exchange, request: BrandQuery) -> BrandListView:
    """List the brands that the token may use, newest first."""
    found = exchange.ask(
        exchange.services.accounts.list_brands, ListBrands(limit=request.limit, cursor=request.cursor)
    )
    counts: dict[str, int] = {}
    if found.brands:
        ids = tuple(brand.id for brand in found.brands)
        counts = exchange.ask(exchange.services.publishing.count_pages, CountPages(brand_ids=ids)).counts
    return BrandListView(
        brands=tuple(
            BrandInList(**msgspec.structs.asdict(brand), pages_count=counts.get(brand.id, 0))
            for brand in found.brands
        ),
        next_cursor=found.next_cursor,
    )


@endpoint("GET", "/brands/{id}", scope="read:brands", meter="reads", errors=_REACH)
def get_brand(exchange: Exchange, request: BrandPath) -> BrandView:
    """Get a brand with its pages."""
    brand = exchange.ask(exchange.services.accounts.get_brand, GetBrand(brand_id=request.id))
    return BrandView(
        brand=BrandWithPages(**msgspec.structs.asdict(brand), pages=_all_pages(exchange, brand.id))
    )


@endpoint("GET", "/brands/{id}/pages", scope="read:pages", meter="reads", errors=_REACH)
def list_brand_pages(exchange: Exchange, request: BrandPagesQuery) -> PageList:
    """List the pages of a brand."""
    platform = platform_code(request.platform)
    check_brand(exchange, request.id)
    query = ListPages(platform=platform, brand_id=request.id, limit=request.limit, cursor=request.cursor)
    return exchange.ask(exchange.services.publishing.list_pages, query)


def _all_pages(exchange: Exchange, brand_id: str) -> tuple[Page, ...]:
    pages: list[Page] = []
    cursor: str | None = None
    while True:
        query = ListPages(brand_id=brand_id, limit=_MOST_PAGES_AT_ONCE, cursor=cursor)
        found = exchange.ask(exchange.services.publishing.list_pages, query)
        pages += found.pages
        cursor = found.next_cursor
        if cursor is None:
            return tuple(pages)
