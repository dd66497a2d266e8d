"""JSON schemas of records: msgspec's, with the formats that it leaves out. Pure."""

from collections.abc import Iterable, Iterator
from typing import Any, get_args

import msgspec

from gateway.http.request_reader import Field

_REF = "#/components/schemas/{name}"


class Schemas:
    """The component schemas of a set of types."""

    def __init__(self, types: Iterable[Any]) -> None:
        self._types = list(types)
        schemas, self.components = msgspec.json.schema_components(self._types, ref_template=_REF)
        self._schemas = list(schemas)
        for record in {found for kind in self._types for found in _records_in(kind)}:
            _add_formats(self.components[record.__name__], record)

    def of(self, kind: Any) -> dict[str, Any]:
        return self._schemas[self._types.index(kind)]


def described_fields(record: type) -> dict[str, dict[str, Any]]:
    """The schema of each field of a request record, by its name in JSON."""
    _, components = msgspec.json.schema_components([record], ref_template=_REF)
    schema = components[record.__name__]
    _add_formats(schema, record)
    properties: dict[str, dict[str, Any]] = schema["properties"]
    return properties


def _add_formats(schema: dict[str, Any], record: type) -> None:
    """Adds `date-time`. msgspec does not, because a datetime may lack a time zone; ours always have one."""
    for field in map(Field, msgspec.structs.fields(record)):
        if field.is_date:
            found = schema["properties"][field.name]
            for option in found.get("anyOf", [found]):
                if option.get("type") == "string":
                    option["format"] = "date-time"


def _records_in(kind: Any, seen: frozenset[type] = frozenset()) -> Iterator[type]:
    """All records in a type, at any depth."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        if kind in seen:
            return
        yield kind
        for info in msgspec.structs.fields(kind):
            yield from _records_in(info.type, seen | {kind})
    else:
        for part in get_args(kind):
            yield from _records_in(part, seen)
