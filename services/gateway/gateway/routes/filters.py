"""Checks platforms and brand ids that a request names in its query or body."""

from collections.abc import Iterable
from typing import TypeVar

import msgspec

from chassis.bus.clients import remote
from contracts.accounts import GetBrand
from contracts.errors import ApiError, invalid
from contracts.platforms import PLATFORM_NAMES, parse_platform
from contracts.publishing import (
    CountScheduledPosts,
    ListCalendarPosts,
    ListPages,
    ListPublishedPosts,
    ListScheduledPosts,
)
from gateway.exchange import Exchange

#: Lists that may be filtered by platform and brand.
ListT = TypeVar(
    "ListT", ListPages, ListScheduledPosts, CountScheduledPosts, ListCalendarPosts, ListPublishedPosts
)


def platform_code(value: str | None) -> str | None:
    """Returns the code of a platform that is given by code or full name; None for None. Raises VALIDATION_ERROR for an
    unknown platform.
    """
    if value is None:
        return None
    code = parse_platform(value)
    if code is None:
        raise invalid("platform", f"Must be one of {PLATFORM_NAMES}")
    return code


def check_brand(exchange: Exchange, brand_id: str, *, field: str | None = None) -> None:
    """Checks that the token may use the brand. Raises BRAND_NOT_AUTHORIZED if it may not, and NOT_FOUND (with `field`)
    if the account has no such brand.

    Calls the service `accounts`, unless the token is limited to some brands and this is one of them.
    """
    within = exchange.caller.brand_ids
    if within is None or brand_id not in within:
        exchange.ask(exchange.services.accounts.get_brand, GetBrand(brand_id=brand_id, field=field))


def filtered(exchange: Exchange, request: ListT) -> ListT:
    """Checks platform and brand of a request for a list. Returns the request with its platform as a code, such as FB.

    Raises VALIDATION_ERROR for an unknown platform, and the errors of `check_brand` if the request names a brand.
    """
    coded = msgspec.structs.replace(request, platform=platform_code(request.platform))
    if coded.brand_id is not None:
        check_brand(exchange, coded.brand_id, field="brand_id")
    return coded


def check_brands(exchange: Exchange, brand_ids: Iterable[str]) -> None:
    """Checks, in parallel, that the token may use each of a body's `brand_ids`.

    Raises the error of `check_brand` for the first brand that it may not use.
    """
    within = exchange.caller.brand_ids or ()
    get_brand = remote(exchange.services.accounts.get_brand)
    checks = [
        get_brand.start(
            exchange.caller,
            GetBrand(brand_id=brand_id, field="brand_ids"),
            timeout_seconds=exchange.remaining_seconds,
        )
        for brand_id in dict.fromkeys(brand_ids)
        if brand_id not in within
    ]
    errors: list[ApiError] = []
    for check in checks:  # every answer is taken: one that is not would stay in memory
        try:
            check.result()
        except ApiError as error:
            errors.append(error)
    if errors:
        raise errors[0]
