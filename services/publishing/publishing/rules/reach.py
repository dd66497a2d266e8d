"""Checks that a caller may use a linked page."""

from contracts.caller import Caller
from contracts.errors import NOT_FOUND, ApiError
from publishing.records import PageRow


def page(caller: Caller, found: PageRow | None, field: str | None = "page_id") -> PageRow:
    """Returns the page if it is linked and the caller may use it.

    Raises NOT_FOUND (with `field`), BRAND_NOT_AUTHORIZED.
    """
    if found is None or found.unlinked_at is not None:
        raise ApiError(NOT_FOUND, **({"field": field} if field else {}))
    caller.check_reach(found.account_id, found.brand_id, field=field)
    return found
