"""Turns the JSON Schemas of the API's description into Python types. Pure."""

import keyword
import re
from collections.abc import Iterator
from typing import Any

Schema = dict[str, Any]

_REF = "#/components/schemas/"
_SIMPLE = {"integer": "int", "number": "float", "boolean": "bool", "null": "None"}


def python_name(json_name: str) -> str:
    """Returns the name of a field, argument or method in snake case, changed if it is a keyword."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", json_name).lower()
    name = re.sub(r"\W", "_", words)
    return f"{name}_" if keyword.iskeyword(name) else name


def referenced(schema: Schema) -> str | None:
    """Returns the name of the component that a schema refers to, if any."""
    ref = schema.get("$ref")
    return str(ref).removeprefix(_REF) if ref is not None else None


def answer_type(schema: Schema, prefix: str = "") -> str:
    """Returns the Python type of a value in an answer, as text. `prefix` is put before the names of records."""
    return _type(schema, prefix, is_input=False)


def input_type(schema: Schema, prefix: str = "") -> str:
    """Returns the Python type of an argument, as text. For a timestamp this is `datetime | str`."""
    return _type(schema, prefix, is_input=True)


def _type(schema: Schema, prefix: str, *, is_input: bool) -> str:
    name = referenced(schema)
    if name is not None:
        return prefix + name
    options = schema.get("anyOf") or schema.get("oneOf")
    if options:
        return _union(_type(option, prefix, is_input=is_input) for option in options)
    if len(schema.get("allOf", ())) == 1:
        return _type(schema["allOf"][0], prefix, is_input=is_input)
    if "const" in schema:
        return f"Literal[{schema['const']!r}]"
    if "enum" in schema:
        values = [value for value in schema["enum"] if value is not None]
        literal = f"Literal[{', '.join(map(repr, values))}]"
        return _union([literal, "None"] if None in schema["enum"] else [literal])
    kind = schema.get("type")
    if isinstance(kind, list):
        return _union(_type({**schema, "type": one}, prefix, is_input=is_input) for one in kind)
    return _plain_type(kind, schema, prefix, is_input=is_input)


def _plain_type(kind: str | None, schema: Schema, prefix: str, *, is_input: bool) -> str:
    if kind == "string":
        if schema.get("format") != "date-time":
            return "str"
        return "datetime | str" if is_input else "datetime"
    if kind == "array":
        inner = _type(schema.get("items") or {}, prefix, is_input=is_input)
        return f"{'Sequence' if is_input else 'list'}[{inner}]"
    if kind == "object":
        values = schema.get("additionalProperties")
        inner = _type(values, prefix, is_input=is_input) if isinstance(values, dict) and values else "Any"
        return f"{'Mapping' if is_input else 'dict'}[str, {inner}]"
    return _SIMPLE.get(kind or "", "Any")


def _union(types: Any) -> str:
    """Returns the union of the types, such as `A | B | None`, with None last. Returns `Any` if one of them is Any."""
    found = list(dict.fromkeys(part for one in types for part in one.split(" | ")))
    if "Any" in found:
        return "Any"
    return " | ".join(sorted(found, key=lambda one: one == "None"))


def components_in(part: Any) -> Iterator[str]:
    """Yields the names of all components that a part of the description refers to."""
    if isinstance(part, dict):
        name = part.get("$ref")
        if isinstance(name, str):
            yield name.removeprefix(_REF)
        for value in part.values():
            yield from components_in(value)
    elif isinstance(part, list | tuple):
        for value in part:
            yield from components_in(value)


def closure(parts: Any, components: dict[str, Schema]) -> list[str]:
    """Returns the names of all component schemas to which these parts of an OpenAPI description refer, directly or
    through others, in the description's order.
    """
    found: set[str] = set()
    waiting = list(components_in(parts))
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += components_in(components[name])
    return [name for name in components if name in found]
