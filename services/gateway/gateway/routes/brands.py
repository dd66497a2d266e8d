"""Brands and their pages."""

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from contracts.accounts import Brand, CreateBrand, EditBrand, GetBrand, ListBrands
from contracts.errors import (
    BRAND_IN_USE,
    BRAND_NOT_AUTHORIZED,
    EMAIL_NOT_VERIFIED,
    LIMIT_REACHED,
    NOT_FOUND,
    ApiError,
)
from contracts.platforms import PlatformName
from contracts.publishing import CountPages, Limit, ListPages, Page, PageList
from contracts.record import Record
from gateway.endpoint import endpoint
from gateway.exchange import Exchange
from gateway.routes.filters import check_brand, platform_code
from gateway.routes.views import BrandInList, BrandListView, BrandView, BrandWithPages

_REACH = (NOT_FOUND, BRAND_NOT_AUTHORIZED)
_MANAGE = "manage:brands"
_MOST_PAGES_AT_ONCE = 100
#: The same limits as in the service `accounts`.
BrandName = Annotated[str, Meta(min_length=1, max_length=100)]
Description = Annotated[str, Meta(max_length=2_000)]
Guidelines = Annotated[str, Meta(max_length=5_000)]
Url = Annotated[str, Meta(max_length=2_048)]


class BrandQuery(Record):
    #: Lists archived brands too.
    archived: bool = False
    limit: Limit = 50
    cursor: str | None = None


class BrandPath(Record):
    id: str


class NewBrand(Record):
    """A request to create a brand. `timezone` is an IANA name such as Europe/Berlin."""

    name: BrandName
    timezone: str = "UTC"
    description: Description | None = None
    logo: Url | None = None
    image_guidelines: Guidelines | None = None
    caption_guidelines: Guidelines | None = None


class EditedBrand(BrandPath, kw_only=True):
    name: BrandName | UnsetType = UNSET
    timezone: str | UnsetType = UNSET
    description: Description | UnsetType | None = UNSET
    logo: Url | UnsetType | None = UNSET
    image_guidelines: Guidelines | UnsetType | None = UNSET
    caption_guidelines: Guidelines | UnsetType | None = UNSET


class BrandPagesQuery(Record):
    id: str
    platform: PlatformName | None = None
    limit: Limit = 50
    cursor: str | None = None


@endpoint("GET", "/brands", scope="read:brands", meter="reads")
def list_brands(exchange: Exchange, request: BrandQuery) -> BrandListView:
    """List the brands that the token may use, newest first."""
    found = exchange.ask(
        exchange.services.accounts.list_brands,
        ListBrands(archived=request.archived, limit=request.limit, cursor=request.cursor),
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


@endpoint(
    "POST", "/brands", scope=_MANAGE, meter="writes", status=201, errors=(EMAIL_NOT_VERIFIED, LIMIT_REACHED)
)
def create_brand(exchange: Exchange, request: NewBrand) -> Brand:
    """Create a brand of the account."""
    new = CreateBrand(user_id=exchange.caller.account_id, **msgspec.structs.asdict(request))
    return exchange.relay(exchange.services.accounts.create_brand, new)


@endpoint("PATCH", "/brands/{id}", scope=_MANAGE, meter="writes", errors=(NOT_FOUND,))
def edit_brand(exchange: Exchange, request: EditedBrand) -> Brand:
    """Change a brand; fields that are not sent keep their value."""
    values = msgspec.structs.asdict(request)
    edited = EditBrand(brand_id=values.pop("id"), **values)
    return exchange.relay(exchange.services.accounts.edit_brand, edited)


@endpoint("POST", "/brands/{id}/archive", scope=_MANAGE, meter="writes", errors=(NOT_FOUND, BRAND_IN_USE))
def archive_brand(exchange: Exchange, request: BrandPath) -> Brand:
    """Archive a brand without pages: it is no longer listed and gets no new pages. Its posts stay."""
    counted = exchange.ask(exchange.services.publishing.count_pages, CountPages(brand_ids=(request.id,)))
    if counted.counts.get(request.id):
        raise ApiError(BRAND_IN_USE)
    return exchange.relay(
        exchange.services.accounts.edit_brand, EditBrand(brand_id=request.id, archived=True)
    )


@endpoint("POST", "/brands/{id}/restore", scope=_MANAGE, meter="writes", errors=(NOT_FOUND,))
def restore_brand(exchange: Exchange, request: BrandPath) -> Brand:
    """Restore an archived brand."""
    return exchange.relay(
        exchange.services.accounts.edit_brand, EditBrand(brand_id=request.id, archived=False)
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
