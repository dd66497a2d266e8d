"""Makes records from the JSON of answers, and JSON from the arguments of calls. Pure.

Answers are read leniently: unknown fields are ignored and values of an enumeration are not checked, so that a newer
server does not break an older client.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import datetime
from enum import Enum
from functools import cache
from typing import Any, Literal, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

from posthaste.errors import UnexpectedAnswer

T = TypeVar("T")


class Unset(Enum):
    """The type of `UNSET`."""

    UNSET = "unset"

    def __repr__(self) -> str:
        return "UNSET"


#: The value of an argument that is not sent, unlike None, which is sent as null and clears a field.
UNSET = Unset.UNSET


def decode(kind: type[T], value: Any) -> T:
    """Returns the record, list or mapping of this kind that a JSON value holds. Raises UnexpectedAnswer if it holds
    none.
    """
    decoded: T = _decode(kind, value, "the answer")
    return decoded


def encode(value: Any) -> Any:
    """Returns the JSON value of an argument, without the parts that are UNSET. Raises ValueError for a datetime without
    a time zone."""
    if isinstance(value, datetime):
        return timestamp(value)
    if isinstance(value, Mapping):
        return {name: encode(part) for name, part in value.items() if part is not UNSET}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [encode(part) for part in value]
    return value


def encode_query(value: Any) -> str:
    """Returns the text of a parameter in a query."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return timestamp(value) if isinstance(value, datetime) else str(value)


def timestamp(value: datetime) -> str:
    """Returns an RFC 3339 timestamp. Raises ValueError if the datetime has no time zone."""
    if value.tzinfo is None or value.utcoffset() is None:
        raise ValueError(
            f"{value!r} has no time zone: pass for example datetime(..., tzinfo=ZoneInfo('Europe/Berlin'))"
        )
    return value.isoformat()


def parse_timestamp(text: str) -> datetime:
    """Parses a timestamp of the API. Raises ValueError for any other text. (Before Python 3.11, fromisoformat does not
    know Z.)
    """
    return datetime.fromisoformat(text[:-1] + "+00:00" if text.endswith("Z") else text)


class _Field(NamedTuple):
    """One field of a record: its name in Python and in JSON, its type, whether every answer has it, and whether the
    JSON value is used unchanged, as for most fields.
    """

    name: str
    json_name: str
    kind: Any
    required: bool
    is_plain: bool


@cache
def _fields_of(record: Any) -> tuple[_Field, ...]:
    hints = get_type_hints(record)
    return tuple(
        _Field(
            name=field.name,
            json_name=field.metadata.get("json", field.name),
            kind=hints[field.name],
            required=field.default is MISSING and field.default_factory is MISSING,
            is_plain=_is_plain(hints[field.name]),
        )
        for field in fields(record)
    )


def _is_plain(kind: Any) -> bool:
    """Whether values of this type are the same in Python and in JSON: texts, numbers, truth values and nothing."""
    if get_origin(kind) in (Union, types.UnionType):
        return all(map(_is_plain, get_args(kind)))
    return kind in (str, int, float, bool, type(None)) or get_origin(kind) is Literal


def _decode(kind: Any, value: Any, place: str) -> Any:
    if value is None or kind is Any:
        return value
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        return _decode_union(get_args(kind), value, place)
    if origin is list:
        [inner] = get_args(kind)
        return [_decode(inner, part, place) for part in _checked(value, list, place)]
    if origin is dict:
        inner = get_args(kind)[1]
        found = _checked(value, dict, place)
        return {name: _decode(inner, part, f"{place}.{name}") for name, part in found.items()}
    if is_dataclass(kind):
        record: Any = kind
        return _decode_record(record, _checked(value, dict, place), place)
    if kind is datetime:
        try:
            return parse_timestamp(_checked(value, str, place))
        except ValueError:
            raise UnexpectedAnswer(f"{place} is not a timestamp: {value!r}") from None
    return value


def _decode_record(record: Any, value: dict[str, Any], place: str) -> Any:
    given = {}
    for field in _fields_of(record):
        if field.json_name not in value:
            if field.required:
                raise UnexpectedAnswer(
                    f"{place} has no field {field.json_name}: is base_url a Posthaste server?"
                )
            continue
        part = value[field.json_name]
        if part is not None and not field.is_plain:
            part = _decode(field.kind, part, f"{place}.{field.json_name}")
        given[field.name] = part
    return record(**given)


def _decode_union(kinds: tuple[Any, ...], value: Any, place: str) -> Any:
    """Returns the first of several records whose required fields are all in the value."""
    candidates = [kind for kind in kinds if kind is not type(None)]
    records: list[Any] = [kind for kind in candidates if is_dataclass(kind)]
    if isinstance(value, dict) and records:
        fits = (one for one in records if all(it.json_name in value for it in _fields_of(one) if it.required))
        return _decode(next(fits, records[0]), value, place)
    others = [kind for kind in candidates if kind not in records]
    return _decode(others[0], value, place) if len(others) == 1 else value


def _checked(value: Any, kind: type, place: str) -> Any:
    if not isinstance(value, kind):
        raise UnexpectedAnswer(f"{place} is not a {kind.__name__}: is base_url a Posthaste server?")
    return value
