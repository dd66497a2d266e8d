"""The Graph API's field expansion: parses and applies `fields=id,from{name},comments.limit(0).summary(true)`."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from simulator.meta.errors import GraphError

_TOKEN = re.compile(r"\s*([\w-]+|[.,{}()])")

#: A function of a view returns this if the platform omits the field.
ABSENT = object()


@dataclass(frozen=True, slots=True)
class Field:
    """A requested field with its modifiers, such as `.limit(0)`, and its subfields."""

    name: str
    modifiers: tuple[tuple[str, str], ...] = ()
    inner: tuple["Field", ...] = ()

    def modifier(self, name: str) -> str | None:
        """Returns the value of the modifier `.name(value)`, or None if the field does not have it."""
        return dict(self.modifiers).get(name)


@lru_cache(maxsize=512)
def parse(text: str) -> tuple[Field, ...]:
    """Parses a `fields` parameter. Raises GraphError 2500 for bad syntax."""
    tokens = _TOKEN.findall(text)
    if "".join(tokens) != re.sub(r"\s", "", text):
        raise _syntax_error(text)
    fields, rest = _field_list(tokens)
    if rest:
        raise _syntax_error(text)
    return fields


def _syntax_error(text: str) -> GraphError:
    return GraphError(2500, f'Syntax error "Expected end of string" in field list: {text[:80]}')


def _field_list(tokens: list[str]) -> tuple[tuple[Field, ...], list[str]]:
    fields = []
    while tokens and tokens[0] != "}":
        name, tokens = tokens[0], tokens[1:]
        modifiers: list[tuple[str, str]] = []
        inner: tuple[Field, ...] = ()
        while tokens[:1] == ["."]:
            if len(tokens) < 5 or tokens[2] != "(":
                raise _syntax_error(name)
            end = tokens.index(")") if ")" in tokens else len(tokens)
            modifiers.append((tokens[1], "".join(tokens[3:end])))
            tokens = tokens[end + 1 :]
        if tokens[:1] == ["{"]:
            inner, tokens = _field_list(tokens[1:])
            if tokens[:1] != ["}"]:
                raise _syntax_error(name)
            tokens = tokens[1:]
        if not re.fullmatch(r"[\w-]+", name) or (tokens and tokens[0] not in ",}"):
            raise _syntax_error(name)
        fields.append(Field(name, tuple(modifiers), inner))
        if tokens[:1] == [","]:
            tokens = tokens[1:]
    return tuple(fields), tokens


View = Mapping[str, Callable[[Any, Field, Any], Any]]


def project(kind: str, view: View, thing: Any, fields: tuple[Field, ...], call: Any) -> dict[str, Any]:
    """Returns the requested fields of an object, and always its `id`. `view` maps each field to the function that
    reads it. Raises GraphError 100 for a field that `view` does not have.
    """
    answer: dict[str, Any] = {}
    for one in fields:
        read = view.get(one.name)
        if read is None:
            raise GraphError(
                100, f"(#100) Tried accessing nonexisting field ({one.name}) on node type ({kind})"
            )
        value = read(thing, one, call)
        if value is not ABSENT:
            answer[one.name] = _narrowed(value, one.inner)
    answer.setdefault("id", view["id"](thing, Field("id"), call))
    return answer


def _narrowed(value: Any, inner: tuple[Field, ...]) -> Any:
    """Returns an object (a dict) with only the subfields in `inner`. Returns a list of objects unchanged, because the
    function that made it has already left out the other subfields.
    """
    if inner and isinstance(value, dict) and "data" not in value:
        return {one.name: value[one.name] for one in inner if one.name in value}
    return value
