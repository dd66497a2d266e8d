"""Turns a request's path, query and body into the endpoint's record, or raises the documented error.

All fields are checked before one error is raised: for missing fields first (MISSING_FIELD), then for timestamps
(INVALID_DATE), then for all other broken rules together (VALIDATION_ERROR). Unknown fields are ignored, except in a
record that forbids them.

Values that cannot be stored (bad strings, numbers out of range, deep nesting) are refused here with the documented
error, and never reach a service.
"""

import json
import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from difflib import get_close_matches
from types import NoneType, UnionType
from typing import Annotated, Any, NoReturn, Union, get_args, get_origin
from urllib.parse import parse_qsl

import msgspec
from msgspec import NODEFAULT, UnsetType

from contracts.errors import (
    INVALID_DATE,
    INVALID_JSON,
    MISSING_FIELD,
    NOT_FOUND,
    VALIDATION_ERROR,
    ApiError,
    invalid,
)

#: Our ids are a prefix and a ULID; nothing has an id of another form.
ID = re.compile(r"[A-Za-z0-9_.\-]{1,128}", re.ASCII)
_INTEGER = re.compile(r"-?[0-9]{1,18}", re.ASCII)
_FLAGS = {"true": True, "false": False}
#: "+02:00" without percent-encoding arrives as " 02:00".
_LOST_PLUS = re.compile(r" (?=[0-9]{2}:[0-9]{2}$)", re.ASCII)
#: msgspec's messages end with the place inside the value.
_PLACE = re.compile(r" - at `(?:key in )?\$(.*)`$")
#: Ignored fields that a dry run names, and characters of each: a body may have many, and long ones. Our choice.
_MOST_IGNORED, _NAME_SHOWN = 20, 100
#: msgspec's message for an unknown field of a record that takes none.
_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`$", re.DOTALL)
#: The first and the last time. A time outside counts as the nearer of the two, which no list and no schedule reaches.
#: Between them, adding a time zone or some days never overflows.
_FIRST, _LAST = datetime(1901, 1, 1, tzinfo=UTC), datetime(8999, 12, 31, tzinfo=UTC)
#: The largest request, encoded for the bus, whose messages stay under 256 KiB (architecture).
MAX_REQUEST_BYTES = 128 * 1024
#: Levels of nesting in one field's value. Free-form settings need two or three; deep nesting only slows parsers down.
MAX_DEPTH = 16
_MAX_INTEGER = 2**63

_decode = msgspec.json.Decoder().decode


class Field:
    """One field of a request's record: its name and type, and the conversion of raw values to that type."""

    def __init__(self, info: msgspec.structs.FieldInfo) -> None:
        self.name = info.encode_name
        self.attribute = info.name
        self.required = info.default is NODEFAULT and info.default_factory is NODEFAULT
        self.type = _without(info.type, UnsetType)
        #: msgspec analyses the types of a record once, any other type on each call: 30 times slower for a number.
        self._box: Any = msgspec.defstruct("Box", [("value", self.type)])
        kinds = _kinds(self.type)
        self.nullable = NoneType in kinds
        self.is_date = datetime in kinds
        self.is_integer = int in kinds
        self.is_flag = bool in kinds

    def from_query(self, text: str) -> Any:
        """Returns a query parameter's text as the JSON value that the field needs: an integer, a boolean, or the text
        itself.

        Text that does not fit stays as it is; `convert` then refuses it.
        """
        if self.is_date:
            return _LOST_PLUS.sub("+", text)
        if self.is_flag:
            return _FLAGS.get(text, text)
        return int(text) if self.is_integer and _INTEGER.fullmatch(text) else text

    def convert(self, value: Any) -> Any:
        """Converts a JSON value to the field's type. Raises ValueError (msgspec.ValidationError is one) that names the
        broken rule."""
        flaw = flaw_in(value)
        if flaw is not None:
            raise ValueError(flaw)
        try:
            converted = msgspec.convert({"value": value}, self._box).value
        except msgspec.ValidationError:
            converted = msgspec.convert(
                value, self.type
            )  # its message names the place inside the value alone
        return _utc(converted) if self.is_date and converted is not None else converted


class Reader:
    """Turns the requests of one endpoint into records."""

    def __init__(self, record: type, path_names: frozenset[str], *, takes_body: bool) -> None:
        self.record = record
        self.path_names = path_names
        self.fields = [Field(info) for info in msgspec.structs.fields(record)]
        #: Fields of the query or the body.
        self.own_fields = [field for field in self.fields if field.name not in path_names]
        self.takes_body = takes_body and bool(self.own_fields)
        #: Fields of which exactly one must be given, the usual one first → suffix of the schema's name in OpenAPI.
        self.one_of: Mapping[str, str] = getattr(record, "ONE_OF", {})
        #: Field → the other field without which it may not be given.
        self.only_with: Mapping[str, str] = getattr(record, "ONLY_WITH", {})

    def read(self, path_values: Mapping[str, str], query: str, body: bytes) -> Any:
        """Returns the record of a request. Raises MISSING_FIELD, INVALID_DATE, VALIDATION_ERROR, INVALID_JSON, and
        NOT_FOUND for a malformed id in the path."""
        if not all(ID.fullmatch(value) for value in path_values.values()):
            raise ApiError(NOT_FOUND)
        if self.takes_body:
            values = parse_object(body)
        elif query and self.own_fields:
            values = self._parse_query(query)
        else:
            values = {}
        request = self._build({**values, **path_values})
        if len(body) > MAX_REQUEST_BYTES and len(msgspec.json.encode(request)) > MAX_REQUEST_BYTES:
            raise invalid("body", f"All fields together must be at most {MAX_REQUEST_BYTES} bytes")
        return request

    def ignored(self, body: bytes) -> list[tuple[str, str]]:
        """Returns the unknown fields of a body, at most 20: name and advice for each, such as a similar name that
        exists."""
        known = [field.name for field in self.own_fields]
        unknown = [name for name in parse_object(body) if name not in known and not flaw_in(name)]
        return [(name[:_NAME_SHOWN], _advice(name, known)) for name in unknown[:_MOST_IGNORED]]

    def _parse_query(self, query: str) -> dict[str, Any]:
        by_name = {field.name: field for field in self.own_fields}
        raw = query.encode("latin-1").decode("utf-8", "surrogateescape")
        values: dict[str, Any] = {}
        for name, text in parse_qsl(raw, keep_blank_values=True, errors="surrogateescape"):
            if name in values:
                raise invalid(name, "Must be given only once")
            if name == "cursor" and not text:
                continue  # the first page: programs that send an empty cursor mean none
            if name in by_name:
                values[name] = by_name[name].from_query(text)
        return values

    def _build(self, values: dict[str, Any]) -> Any:
        converted: dict[str, Any] = {}
        missing: list[str] = []
        bad_dates: list[str] = []
        errors: list[dict[str, str]] = []
        for field in self.fields:
            value = values.get(field.name)
            if value is None and not (field.name in values and (field.nullable or not field.required)):
                if field.required:
                    missing.append(field.name)
                continue
            try:
                converted[field.attribute] = field.convert(value)
            except ValueError as error:
                if field.is_date:
                    bad_dates.append(field.name)
                else:
                    errors.append(_broken(field, str(error)))
        given = [name for name in self.one_of if converted.get(name) is not None or name in _named(errors)]
        if self.one_of and not given:
            missing.insert(0, next(iter(self.one_of)))
        errors += [
            {"field": name, "message": f"Must not be given together with {given[0]}"} for name in given[1:]
        ]
        errors += [
            {"field": name, "message": f"Is only for {other}"}
            for name, other in self.only_with.items()
            if converted.get(name) and converted.get(other) is None and other not in _named(errors)
        ]
        if missing:
            raise ApiError(MISSING_FIELD, f"{missing[0]} is required.", field=missing[0])
        if bad_dates:
            raise ApiError(INVALID_DATE, field=bad_dates[0])
        if errors:
            message = "; ".join(f"{error['field']}: {error['message']}" for error in errors)
            raise ApiError(VALIDATION_ERROR, message, errors=errors)
        return self.record(**converted)


def _named(errors: list[dict[str, str]]) -> set[str]:
    """Returns the names of the top-level fields that have errors."""
    return {re.split(r"[.\[]", error["field"])[0] for error in errors}


def _broken(field: Field, message: str) -> dict[str, str]:
    place = _PLACE.search(message)
    name, said = field.name, message
    if place is not None:
        name, said = field.name + place[1].replace("[...]", ""), message[: place.start()]
    unknown = _UNKNOWN.match(said)
    if unknown is None:
        return {"field": name, "message": said}
    known = {one.encode_name for kind in _records_in(field.type) for one in msgspec.structs.fields(kind)}
    return {
        "field": f"{name}.{unknown[1]}",
        "message": f"is not a field; {_advice(unknown[1], sorted(known))}",
    }


def _advice(unknown: str, known: list[str]) -> str:
    close = get_close_matches(unknown[:_NAME_SHOWN], known, n=1)
    return f"did you mean {close[0]}?" if close else f"there are {', '.join(known)}"


def _records_in(kind: Any) -> set[type[msgspec.Struct]]:
    """Returns the record types in a type such as a tuple of records."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return {kind}
    return {found for part in get_args(kind) for found in _records_in(part)}


def _utc(value: datetime) -> datetime:
    """Converts a time to UTC, in whole milliseconds, and limits it to the years 1901 to 8999. Raises ValueError for a
    time without a zone."""
    if value.tzinfo is None:
        raise ValueError("A time zone is required")
    value = min(max(value, _FIRST), _LAST)
    return value.astimezone(UTC).replace(microsecond=value.microsecond // 1000 * 1000)


def _without(kind: Any, unwanted: type) -> Any:
    if get_origin(kind) not in (Union, UnionType):
        return kind
    return Union[tuple(part for part in get_args(kind) if part is not unwanted)]  # noqa: UP007 - a computed union


def _kinds(kind: Any) -> set[Any]:
    """Returns the types in a union, without their annotations. Any other type is returned alone."""
    if get_origin(kind) is Annotated:
        return _kinds(get_args(kind)[0])
    if get_origin(kind) in (Union, UnionType):
        return {found for part in get_args(kind) for found in _kinds(part)}
    return {kind}


def parse_object(raw: bytes) -> dict[str, Any]:
    """Parses a JSON object. Raises INVALID_JSON if the body is not JSON, not UTF-8, nested too deeply, or not an
    object."""
    try:
        value = _decode(raw)
    except RecursionError:
        raise ApiError(INVALID_JSON, "The body is nested too deeply.") from None
    except (msgspec.MsgspecError, UnicodeError):
        value = _parse_with_surrogates(raw)
    if not isinstance(value, dict):
        raise ApiError(INVALID_JSON)
    return value


def _parse_with_surrogates(raw: bytes) -> Any:
    """Parses JSON that contains lone surrogates. msgspec refuses the whole body, but the error must name the field."""
    try:
        return json.loads(raw.decode(), parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise ApiError(INVALID_JSON) from None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)


def flaw_in(value: Any, depth: int = 0) -> str | None:
    """Returns why a value cannot be stored; None if it can be stored."""
    if isinstance(value, str):
        return _flaw_in_text(value)
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int):
        return None if -_MAX_INTEGER <= value < _MAX_INTEGER else "Number out of range"
    if isinstance(value, float):
        return None if math.isfinite(value) else "Number out of range"
    if depth >= MAX_DEPTH:
        return f"Nested more than {MAX_DEPTH} levels deep"
    items = [*value.keys(), *value.values()] if isinstance(value, dict) else value
    return next((flaw for item in items if (flaw := flaw_in(item, depth + 1))), None)


def _flaw_in_text(text: str) -> str | None:
    if "\x00" in text:
        return "Must not contain NUL characters"
    try:
        text.encode()
    except UnicodeEncodeError:
        return "Must be valid Unicode, without lone surrogates"
    return None
