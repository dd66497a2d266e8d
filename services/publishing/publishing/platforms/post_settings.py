"""Checks and reads a platform's own settings of a post (`x_settings` and the like) against a record. Pure."""

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from chassis.http.addresses import UnsafeAddress, check_url
from contracts.errors import ApiError, invalid
from contracts.record import Record

R = TypeVar("R", bound=Record)


def setting_errors(field: str, kind: type[Record], settings: Mapping[str, Any]) -> list[ApiError]:
    """Returns one VALIDATION_ERROR for each setting that does not fit. Unknown settings and null are ignored."""
    found = []
    for row in msgspec.structs.fields(kind):
        value = settings.get(row.encode_name)
        if value is None:
            continue
        try:
            msgspec.convert(value, row.type)
        except msgspec.ValidationError as error:
            found.append(invalid(f"{field}.{row.encode_name}", str(error)))
    return found


def url_errors(field: str, value: Any) -> list[ApiError]:
    """Returns what is wrong with an address that the platform gets; the address is not requested."""
    if not isinstance(value, str):
        return [invalid(field, "must be a URL")]
    try:
        check_url(value)
    except UnsafeAddress as error:
        return [invalid(field, error.reason)]
    return []


def parse(kind: type[R], settings: Mapping[str, Any]) -> R:
    """Converts settings that were checked before into a record, with defaults for the missing ones."""
    return msgspec.convert({name: value for name, value in settings.items() if value is not None}, kind)
