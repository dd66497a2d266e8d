"""Makes records from the JSON of answers, and JSON from the arguments of calls. Pure.

Answers are read leniently: unknown fields are ignored and values of an enumeration are not checked, so that a newer
server does not break an older client.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import datetime
from enum import Enum
from functools import cache, partial
from typing import Any, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

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
    """Converts a JSON value into the type `kind`: a record, a list or a mapping. Raises UnexpectedAnswer if the value
    does not fit the type.
    """
    wanted: Any = kind
    decoded: T = _decode(_decoder_of(wanted), value, "the answer")
    return decoded


def encode(value: Any) -> Any:
    """Returns the JSON value of an argument. Leaves out the fields whose value is UNSET. Raises ValueError for a
    datetime without a time zone."""
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


#: (JSON value other than null, its place in the answer, for errors) → the Python value.
_Decoder = Callable[[Any, str], Any]


class _Field(NamedTuple):
    """A field of a record. `decoder` is None if the JSON value is the Python value itself, as most are."""

    name: str
    json_name: str
    required: bool
    decoder: _Decoder | None


@cache
def _fields_of(record: Any) -> tuple[_Field, ...]:
    hints = get_type_hints(record)
    return tuple(
        _Field(
            name=field.name,
            json_name=field.metadata.get("json", field.name),
            required=field.default is MISSING and field.default_factory is MISSING,
            decoder=_decoder_of(hints[field.name]),
        )
        for field in fields(record)
    )


def _decode(decoder: _Decoder | None, value: Any, place: str) -> Any:
    return value if decoder is None or value is None else decoder(value, place)


@cache
def _decoder_of(kind: Any) -> _Decoder | None:
    """Returns the function that decodes values of this type; None for strings, numbers, booleans and unknown types,
    whose values are the same in Python and in JSON."""
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        return _decoder_of_union([one for one in get_args(kind) if one is not type(None)])
    if origin is list:
        return _decoder_of_list(_decoder_of(get_args(kind)[0]))
    if origin is dict:
        return _decoder_of_dict(_decoder_of(get_args(kind)[1]))
    if is_dataclass(kind):
        return partial(_decode_record, kind)
    return _decode_timestamp if kind is datetime else None


def _decoder_of_list(inner: _Decoder | None) -> _Decoder:
    return lambda value, place: [_decode(inner, part, place) for part in _checked(value, list, place)]


def _decoder_of_dict(inner: _Decoder | None) -> _Decoder:
    def decode_dict(value: Any, place: str) -> Any:
        found = _checked(value, dict, place)
        return {name: _decode(inner, part, f"{place}.{name}") for name, part in found.items()}

    return decode_dict


def _decoder_of_union(kinds: list[Any]) -> _Decoder | None:
    """Returns the function that decodes values of a union. A JSON object becomes the first of the union's records whose
    required fields it has. If it fits none of them, it is decoded as the first record, which raises UnexpectedAnswer.
    """
    records: list[Any] = [kind for kind in kinds if is_dataclass(kind)]
    others = [kind for kind in kinds if kind not in records]
    other = _decoder_of(others[0]) if len(others) == 1 else None
    if not records:
        return other

    def decode_union(value: Any, place: str) -> Any:
        if not isinstance(value, dict):
            return _decode(other, value, place)
        fits = (one for one in records if all(it.json_name in value for it in _fields_of(one) if it.required))
        return _decode_record(next(fits, records[0]), value, place)

    return decode_union


def _decode_record(record: Any, value: Any, place: str) -> Any:
    found, given = _checked(value, dict, place), {}
    for name, json_name, required, decoder in _fields_of(record):
        if json_name in found:
            part = found[json_name]
            if part is not None and decoder is not None:
                part = decoder(part, f"{place}.{json_name}")
            given[name] = part
        elif required:
            raise UnexpectedAnswer(f"{place} has no field {json_name}: is base_url a Posthaste server?")
    return record(**given)


def _decode_timestamp(value: Any, place: str) -> datetime:
    try:
        return parse_timestamp(_checked(value, str, place))
    except ValueError:
        raise UnexpectedAnswer(f"{place} is not a timestamp: {value!r}") from None


def _checked(value: Any, kind: type, place: str) -> Any:
    if not isinstance(value, kind):
        raise UnexpectedAnswer(f"{place} is not a {kind.__name__}: is base_url a Posthaste server?")
    return value
