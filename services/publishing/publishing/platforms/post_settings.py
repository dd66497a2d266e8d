"""Checks and reads a platform's own settings of a post (`x_settings` and the like) against their record. Pure."""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, TypeVar

import msgspec

from chassis.http.addresses import UnsafeAddress, check_url
from contracts.errors import ApiError, invalid
from contracts.platforms import PLATFORMS
from contracts.post_settings import OPEN_SETTINGS, POST_SETTINGS
from contracts.record import Record

R = TypeVar("R", bound=Record)


def setting_errors(platform_code: str, settings: Mapping[str, Any]) -> list[ApiError]:
    """Returns one VALIDATION_ERROR for each setting that does not fit or is unknown; null counts as not sent.

    An unknown setting is refused, because a misspelt one would have no effect: `visiblity` would publish for
    everybody. On platforms that accept further settings (`OPEN_SETTINGS`), an unknown setting is refused only if it
    looks like a known one.
    """
    field, kind = PLATFORMS[platform_code].settings_field, POST_SETTINGS[platform_code]
    found = _unknown(field, kind, settings, is_open=platform_code in OPEN_SETTINGS)
    for row in msgspec.structs.fields(kind):
        value = settings.get(row.encode_name)
        if value is None:
            continue
        try:
            msgspec.convert(value, row.type)
        except msgspec.ValidationError as error:
            found.append(invalid(f"{field}.{row.encode_name}", str(error)))
            continue
        if isinstance(value, Mapping):
            found += _unknown(f"{field}.{row.encode_name}", _record_in(row.type), value, is_open=False)
    return found


def open_setting_errors(platform_code: str, settings: Mapping[str, Any]) -> list[ApiError]:
    """Returns an error for each unknown setting that `setting_errors` permits because the platform accepts further
    settings.

    Used for `overrides`. They are not in the spec, so no client relies on passing unknown settings there.
    """
    field, kind = PLATFORMS[platform_code].settings_field, POST_SETTINGS[platform_code]
    permitted = {str(error) for error in setting_errors(platform_code, settings)}
    unknown = _unknown(field, kind, settings, is_open=False)
    return [error for error in unknown if str(error) not in permitted]


def _unknown(field: str, kind: type[Record], settings: Mapping[str, Any], *, is_open: bool) -> list[ApiError]:
    known = [row.encode_name for row in msgspec.structs.fields(kind)]
    found = []
    for name in settings:
        if name in known:
            continue
        close = get_close_matches(name, known, n=1)
        if close:
            found.append(invalid(f"{field}.{name}", f"is not a setting; did you mean {close[0]}?"))
        elif not is_open:
            found.append(invalid(f"{field}.{name}", f"is not a setting; there are {', '.join(known)}"))
    return found


def _record_in(kind: Any) -> type[Record]:
    """Returns the record class in a type such as `Article | None`."""
    found: type[Record] = next(
        part for part in getattr(kind, "__args__", (kind,)) if hasattr(part, "__struct_fields__")
    )
    return found


def url_errors(field: str, value: Any) -> list[ApiError]:
    """Returns the errors of an address that will be passed to the platform. The address is not requested."""
    try:
        check_url(value)
    except UnsafeAddress as error:
        return [invalid(field, error.reason)]
    return []


def parse(kind: type[R], settings: Mapping[str, Any]) -> R:
    """Converts checked settings into a record of class `kind`, with defaults for missing ones."""
    return msgspec.convert({name: value for name, value in settings.items() if value is not None}, kind)
