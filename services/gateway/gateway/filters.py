"""What query filters mean: platforms by code or name, brands within the caller's reach."""

from contracts.accounts import GetBrand
from contracts.errors import invalid
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
        exchange.ask(exchange.house.accounts.get_brand, GetBrand(brand_id=brand_id, field=field))
