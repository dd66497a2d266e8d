"""Turns the operations of the API's description into the methods of the client. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from client_generator.schemas import Schema, answer_type, python_name, referenced

#: The prefix of records' names in the modules of operations.
RECORDS = "records."


@dataclass(frozen=True)
class Argument:
    """One argument of a method."""

    json_name: str
    schema: Schema
    required: bool

    @property
    def name(self) -> str:
        return python_name(self.json_name)


@dataclass(frozen=True)
class Method:
    """A method of the client. An operation whose body may be one of several records has a method for each of them."""

    #: The method's name in camel case: `schedulePosts`.
    json_name: str
    tag: str
    http_method: str
    #: The path from the server's root, with placeholders.
    path: str
    #: The JSON Schema of the answer.
    schema: Schema
    path_names: tuple[str, ...]
    query: tuple[Argument, ...]
    #: None: the operation takes no JSON body.
    body: tuple[Argument, ...] | None
    #: The name of the body's schema; None if there is no body, or its schema has no name.
    body_component: str | None
    keyed: bool
    authenticated: bool
    summary: str
    description: str
    #: The field with the list, if the answer is one page of a list that continues with a cursor.
    list_field: str | None
    #: The JSON Schema of that list's items.
    item_schema: Schema

    @property
    def name(self) -> str:
        return python_name(self.json_name)

    @property
    def result(self) -> str:
        return answer_type(self.schema, RECORDS)

    @property
    def item(self) -> str:
        return answer_type(self.item_schema, RECORDS)


def methods_of(description: dict[str, Any]) -> list[Method]:
    """Returns the client's methods for the operations of an OpenAPI description, in the order of the description."""
    base_path = urlsplit(description["servers"][0]["url"]).path
    components: dict[str, Schema] = description["components"]["schemas"]
    return [
        method
        for path, operations in description["paths"].items()
        for http_method, operation in operations.items()
        for method in _methods(
            http_method.upper(), path if "servers" in operation else base_path + path, operation, components
        )
    ]


def is_left_out(operation: dict[str, Any]) -> bool:
    """Whether the client gets no generated method for the operation. This is so if the answer is not JSON, for example
    a page for a browser, or if the body is a file.
    """
    return _answer(operation) is None or "multipart/form-data" in _contents(operation)


def _methods(
    http_method: str, path: str, operation: dict[str, Any], components: dict[str, Schema]
) -> Iterator[Method]:
    if is_left_out(operation):
        return
    answer = _answer(operation) or {}
    content = _contents(operation).get("application/json")
    bodies: list[Schema | None] = [None]
    if content is not None:
        bodies = list(content["schema"].get("oneOf") or [content["schema"]])
    answers = answer.get("anyOf", [])
    for position, body in enumerate(bodies):
        name = operation["operationId"]
        component = referenced(body) if body is not None else None
        if component is not None and len(bodies) > 1:
            name = component[0].lower() + component[1:]
        # One page or several: each body has an answer of its own.
        own = answers[position] if len(bodies) > 1 and len(answers) == len(bodies) else answer
        yield _method(name, http_method, path, operation, body, own, components)


def _method(
    name: str,
    http_method: str,
    path: str,
    operation: dict[str, Any],
    body: Schema | None,
    answer: Schema,
    components: dict[str, Schema],
) -> Method:
    parameters = operation.get("parameters", [])
    record = components.get(referenced(answer) or "", {})
    query = tuple(
        Argument(one["name"], one["schema"], one.get("required", False))
        for one in parameters
        if one["in"] == "query"
    )
    list_field = _list_field(query, record)
    return Method(
        json_name=name,
        tag=operation["tags"][0],
        http_method=http_method,
        path=path,
        schema=answer,
        path_names=tuple(one["name"] for one in parameters if one["in"] == "path"),
        query=query,
        body=None if body is None else _body_arguments(body, components),
        body_component=None if body is None else referenced(body),
        keyed=any(one["name"] == "Idempotency-Key" for one in parameters),
        authenticated=operation.get("security") != [],
        summary=operation["summary"],
        description=operation.get("description", ""),
        list_field=list_field,
        item_schema=record["properties"][list_field].get("items", {}) if list_field else {},
    )


def _body_arguments(body: Schema, components: dict[str, Schema]) -> tuple[Argument, ...]:
    schema = components[referenced(body) or ""] if referenced(body) else body
    required = schema.get("required", ())
    return tuple(
        Argument(name, field, name in required) for name, field in schema.get("properties", {}).items()
    )


def _list_field(query: tuple[Argument, ...], answer: Schema) -> str | None:
    properties = answer.get("properties", {})
    if "next_cursor" not in properties or "cursor" not in {one.json_name for one in query}:
        return None
    lists = [name for name, schema in properties.items() if schema.get("type") == "array"]
    return lists[0] if len(lists) == 1 else None


def _contents(operation: dict[str, Any]) -> dict[str, Any]:
    contents: dict[str, Any] = operation.get("requestBody", {}).get("content", {})
    return contents


def _answer(operation: dict[str, Any]) -> Schema | None:
    """Returns the schema of the JSON in a successful answer."""
    for status, response in operation["responses"].items():
        content = response.get("content", {}) if status.startswith("2") else {}
        if "application/json" in content:
            schema: Schema = content["application/json"]["schema"]
            return schema
    return None
