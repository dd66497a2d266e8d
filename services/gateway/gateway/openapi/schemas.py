"""The component schemas of records in `/openapi.json`. Pure.

msgspec makes the schemas. This module adds formats, descriptions of fields, the platforms' settings, and a named
schema per body.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any, get_args

import msgspec

from contracts.platforms import PLATFORMS
from contracts.post_settings import POST_SETTINGS
from contracts.publishing import PageOverride
from gateway.http.request_reader import Field, Reader
from gateway.openapi.field_texts import for_clients, texts_of

_REF = "#/components/schemas/{name}"
#: References inside a schema that contains all others (`whole_schema`).
_DEF, _DEF_NAME = "#/$defs/{name}", re.compile(r"#/\$defs/(\w+)")

Schema = dict[str, Any]

#: The record that describes a post's `x_settings` and the like; on the wire they are plain objects.
_SETTINGS = {
    PLATFORMS[code].settings_field: kind.__name__ for code, kind in POST_SETTINGS.items() if code in PLATFORMS
}


class Schemas:
    """The component schemas of a set of types. `of_body` adds the schemas of request bodies."""

    def __init__(self, types: Iterable[Any], bodies: Iterable[type]) -> None:
        """Makes the schemas of `types`, and prepares those of the request records `bodies`.

        A record of `bodies` is not a component until `of_body` has added it.
        """
        self._types = [*types, *POST_SETTINGS.values()]
        self._bodies = list(dict.fromkeys(bodies))
        schemas, self.components = msgspec.json.schema_components(
            [*self._types, *self._bodies], ref_template=_REF
        )
        self._schemas = list(schemas)
        for record in {found for kind in (*self._types, *self._bodies) for found in _records_in(kind)}:
            _complete(self.components[record.__name__], record)
        self._requests = {record: self.components.pop(record.__name__) for record in self._bodies}

    def of(self, kind: Any) -> Schema:
        return self._schemas[self._types.index(kind)]

    def of_body(self, reader: Reader, name: str) -> Schema:
        """Returns the schema of a request's body: a component called `name`, without the fields that are in the path.

        Some requests must have exactly one field of a group, such as `page_id` or `page_ids`. Their schema is a choice
        (`oneOf`) of several components, each with a different field of the group.
        """
        if not reader.one_of:
            return self._add_body(reader, name, frozenset(), None)
        bodies = [
            self._add_body(reader, name + suffix, _not_beside(reader, given), given)
            for given, suffix in reader.one_of.items()
        ]
        return {"oneOf": bodies}

    def _add_body(self, reader: Reader, name: str, without: frozenset[str], given: str | None) -> Schema:
        if name in self.components:
            raise ValueError(f"Two schemas are named {name}: rename the record or the operation")
        whole = self._requests[reader.record]
        own = [field for field in reader.own_fields if field.name not in without]
        properties = {field.name: _without_empty_default(whole["properties"][field.name]) for field in own}
        if given is not None:
            properties[given] = not_null(properties[given])
        required = [field.name for field in own if field.required or field.name == given]
        self.components[name] = {**whole, "title": name, "properties": properties, "required": required}
        return {"$ref": _REF.format(name=name)}


def _not_beside(reader: Reader, given: str) -> frozenset[str]:
    """Returns the fields that may not be sent together with `given`, which is one of several fields that exclude each
    other."""
    bound = {name for name, other in reader.only_with.items() if other != given}
    return frozenset(reader.one_of) - {given} | bound


def described_fields(record: type) -> dict[str, Schema]:
    """Returns the schemas of a query's or path's parameters, by their names in JSON."""
    _, components = msgspec.json.schema_components([record], ref_template=_REF)
    schema = components[record.__name__]
    _complete(schema, record)
    properties: dict[str, Schema] = schema["properties"]
    return properties


def whole_schema(record: type) -> Schema:
    """Returns the schema of a record with all schemas that it refers to, under `$defs`."""
    _, parts = msgspec.json.schema_components([record, *POST_SETTINGS.values()], ref_template=_DEF)
    for found in {found for kind in (record, *POST_SETTINGS.values()) for found in _records_in(kind)}:
        _complete(parts[found.__name__], found, _DEF)
    schema = parts.pop(record.__name__)
    used: dict[str, Schema] = {}
    open_ = [schema]
    while open_:
        for name in _DEF_NAME.findall(str(open_.pop())):
            if name not in used:
                used[name] = parts[name]
                open_.append(parts[name])
    return {**schema, "$defs": used} if used else schema


def not_null(schema: Schema) -> Schema:
    """Returns the schema without null, for a value that may be absent but never null."""
    options = [option for option in schema.get("anyOf", ()) if option.get("type") != "null"]
    if not options:
        return {key: value for key, value in schema.items() if value is not None}
    return options[0] if len(options) == 1 else {"anyOf": options}


def _without_empty_default(schema: Schema) -> Schema:
    """Removes an empty default from the schema of a body's field: openapi-typescript treats every field with a default
    as required."""
    if schema.get("default", 0) in (None, (), [], {}):
        return {key: value for key, value in schema.items() if key != "default"}
    return schema


def _complete(schema: Schema, record: type, ref: str = _REF) -> None:
    """Adds what msgspec leaves out of a record's schema: descriptions of fields, the records of platforms' settings,
    and `date-time` for times, because ours always have a zone."""
    texts = texts_of(record)
    if "description" in schema:
        schema["description"] = for_clients(schema["description"])
    for field in map(Field, msgspec.structs.fields(record)):
        found = schema["properties"][field.name]
        if field.is_date:
            for option in found.get("anyOf", [found]):
                if option.get("type") == "string":
                    option["format"] = "date-time"
        if record is PageOverride and field.name == "settings":
            kinds = [{"$ref": ref.format(name=name)} for name in _SETTINGS.values()]
            found = {"anyOf": [*kinds, {"type": "null"}]}
        if field.name in _SETTINGS:
            found = {"anyOf": [{"$ref": ref.format(name=_SETTINGS[field.name])}, {"type": "null"}]}
        if field.attribute in texts:
            found = {"description": texts[field.attribute], **found}
        schema["properties"][field.name] = found


def _records_in(kind: Any, seen: frozenset[type] = frozenset()) -> Iterator[type]:
    """Yields all records in a type, at any depth."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        if kind in seen:
            return
        yield kind
        for info in msgspec.structs.fields(kind):
            yield from _records_in(info.type, seen | {kind})
    else:
        for part in get_args(kind):
            yield from _records_in(part, seen)
