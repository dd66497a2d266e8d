"""A platform's own settings of a post (`x_settings` and the like), held against a record of its module. Pure."""

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from chassis.http.addresses import UnsafeAddress, check_url
from contracts.errors import ApiError, invalid
from contracts.record import Record

R = TypeVar("R", bound=Record)


def complaints(field: str, kind: type[Record], settings: Mapping[str, Any]) -> list[ApiError]:
    """What does not fit, one VALIDATION_ERROR for each setting. Unknown ones and null are left alone."""
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


def url_complaints(field: str, value: Any) -> list[ApiError]:
    """What is wrong with an address that is handed on; nobody is asked."""
    if not isinstance(value, str):
        return [invalid(field, "must be a URL")]
    try:
        check_url(value)
    except UnsafeAddress as error:
        return [invalid(field, error.reason)]
    return []


def read(kind: type[R], settings: Mapping[str, Any]) -> R:
    """Settings that were found good, with the defaults of those that are not there."""
    return msgspec.convert({name: value for name, value in settings.items() if value is not None}, kind)
