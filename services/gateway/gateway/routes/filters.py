"""What query filters mean: platforms by code or name, brands within the caller's reach."""

from collections.abc import Iterable
from typing import Any

from contracts.accounts import GetBrand
from contracts.errors import ApiError, invalid
from contracts.platforms import PLATFORMS, parse_platform
from gateway.exchange import Exchange


def platform_code(value: str | None) -> str | None:
    """Raises ApiError VALIDATION_ERROR for what is neither code nor full name."""
    if value is None:
        return None
    code = parse_platform(value)
    if code is None:
        raise invalid("platform", f"Must be one of {', '.join(PLATFORMS)} or a platform's full name")
    return code


def check_brand(exchange: Exchange, brand_id: str, *, field: str | None = None) -> None:
    """Raises ApiError NOT_FOUND (with `field`), BRAND_NOT_AUTHORIZED. A restricted token knows its brands."""
    within = exchange.caller.brand_ids
    if within is None or brand_id not in within:
        exchange.ask(exchange.services.accounts.get_brand, GetBrand(brand_id=brand_id, field=field))


def check_brands(exchange: Exchange, brand_ids: Iterable[str]) -> None:
    """All of a body's `brand_ids`, asked about at once; raises as `check_brand` does for the first that is not well."""
    within = exchange.caller.brand_ids or ()
    get_brand: Any = exchange.services.accounts.get_brand
    asked = [
        get_brand.start(
            exchange.caller,
            GetBrand(brand_id=brand_id, field="brand_ids"),
            timeout_seconds=exchange.remaining_seconds,
        )
        for brand_id in dict.fromkeys(brand_ids)
        if brand_id not in within
    ]
    refusals: list[ApiError] = []
    for one in asked:  # to the last: an answer nobody waits for would be kept
        try:
            one.result()
        except ApiError as error:
            refusals.append(error)
    if refusals:
        raise refusals[0]
