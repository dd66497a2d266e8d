"""Lists, shows and counts linked pages."""

from chassis.cursor import decode_position, one_page
from chassis.ids import is_id
from contracts import publishing as api
from contracts.caller import Caller
from contracts.errors import BRAND_NOT_AUTHORIZED, NOT_FOUND, ApiError
from publishing.context import AppContext
from publishing.records import reached
from publishing.rules.filters import platform_code
from publishing.store.pages import Pages


def show_list(app: AppContext, caller: Caller, request: api.ListPages) -> api.PageList:
    """Lists pages, newest first.

    Raises BRAND_NOT_AUTHORIZED if the requested brand has pages but the token may not use the brand, and NOT_FOUND for
    a malformed brand id.
    """
    platform = platform_code(request.platform)
    brand_ids = caller.brand_ids
    if request.brand_id is not None:
        if not is_id(request.brand_id):
            raise ApiError(NOT_FOUND, field="brand_id")
        brand_ids = (request.brand_id,)
    with app.database.reading() as connection:
        found = Pages(connection).newest(
            caller.account_id,
            brand_ids=brand_ids,
            platform=platform,
            after=decode_position(request.cursor),
            limit=request.limit + 1,
        )
    if request.brand_id is not None and found and not caller.reaches(request.brand_id):
        raise ApiError(BRAND_NOT_AUTHORIZED)
    pages, cursor = one_page(found, request.limit)
    return api.PageList(pages=pages, next_cursor=cursor)


def show(app: AppContext, caller: Caller, request: api.GetPage) -> api.Page:
    with app.database.reading() as connection:
        pages = Pages(connection)
        page = reached(caller, pages.get(request.id), field=None)
        return page.view(pages.last_refusals([page.id]).get(page.id))


def count(app: AppContext, caller: Caller, request: api.CountPages) -> api.PageCounts:
    """Counts the pages of each brand that the caller may access."""
    brand_ids = tuple(brand for brand in request.brand_ids if caller.reaches(brand))
    with app.database.reading() as connection:
        return api.PageCounts(counts=Pages(connection).counts(caller.account_id, brand_ids))
