"""Parses the query parameters by which clients filter lists. Pure."""

from typing import overload

from contracts.errors import invalid
from contracts.platforms import PLATFORM_NAMES, parse_platform

STATUSES = ("queued", "held", "published", "failed", "cancelled")


@overload
def platform_code(value: str) -> str: ...
@overload
def platform_code(value: None) -> None: ...
def platform_code(value: str | None) -> str | None:
    """Returns the code of the platform that `value` names by its code or name, in any case; None for None.

    Raises VALIDATION_ERROR for any other text.
    """
    if value is None:
        return None
    code = parse_platform(value)
    if code is None:
        raise invalid("platform", f"must be one of {PLATFORM_NAMES}")
    return code


def statuses_in(value: str) -> tuple[str, ...]:
    """Parses the filter of statuses: `all` or a comma-separated list. Raises VALIDATION_ERROR for an unknown status."""
    if value == "all":
        return STATUSES
    asked = tuple(part.strip() for part in value.split(","))
    if not set(asked) <= set(STATUSES):
        raise invalid("status", f"must be all, or a comma-separated list of {', '.join(STATUSES)}")
    return asked
