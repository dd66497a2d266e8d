"""Generates /openapi.json (OpenAPI 3.1) from the endpoints (`gateway.routes.ENDPOINTS`) and the records of the
contracts. Pure."""

from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import urlencode

from contracts.media import CONVERTED_TYPES, MIME_TYPES
from gateway import API_VERSION, BASE_PATH
from gateway.endpoint import Endpoint
from gateway.openapi import examples, platform_table
from gateway.openapi.code_samples import Call, samples_of
from gateway.openapi.events import ENVELOPES, described_events
from gateway.openapi.responses import BINARY, error_schema, responses_of
from gateway.openapi.schemas import Schemas, described_fields, not_null
from gateway.openapi.tags import described_tags, tag_of

_ABOUT = (
    "Publishes and schedules posts on social platforms. The limits of each platform are below and in `x-platforms`; "
    "`POST /posts/validate` checks a post against them, with its files."
)
#: The idempotency key of the examples. A client makes a new one for each write.
_KEY = "6f1b0c9e-3a52-4c1e-9d53-0a2f6a1c7b11"
#: Spec "Upload rules", and the types that are stored as JPEG. Without a type the bytes decide.
_MULTIPART = {
    "multipart/form-data": {
        "schema": {"type": "object", "properties": {"file": BINARY}, "required": ["file"]},
        "encoding": {
            "file": {"contentType": ", ".join((*MIME_TYPES, *CONVERTED_TYPES, "application/octet-stream"))}
        },
    }
}


def describe(
    endpoints: Iterable[Endpoint], *, public_url: str = "http://localhost:8000", key_required: bool = False
) -> dict[str, Any]:
    """Returns the OpenAPI description of all endpoints. `public_url` is where clients reach them.

    `key_required`: the deployment refuses writes without an Idempotency-Key.
    """
    rows = list(endpoints)
    results = (kind for row in rows for kind in (row.result, row.several) if kind not in (bytes, str, None))
    bodies = [row.request for row in rows if row.reader.takes_body]
    schemas = Schemas([*dict.fromkeys(results), *ENVELOPES.values()], bodies)
    paths: dict[str, dict[str, Any]] = {}
    for row in rows:
        operation = _operation(row, schemas, key_required)
        if row.outside:
            operation["servers"] = [{"url": public_url}]
        if row.result is not str:
            base = public_url if row.outside else public_url + BASE_PATH
            operation["x-codeSamples"] = samples_of(_call(row, base))
        paths.setdefault(row.path, {})[row.method.lower()] = operation
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Posthaste",
            "version": API_VERSION,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
            "description": f"{_ABOUT}\n\n{platform_table.for_people()}",
        },
        "x-platforms": platform_table.for_programs(),
        "servers": [{"url": public_url + BASE_PATH}],
        "tags": [*described_tags(rows), {"name": "Events", "description": "What subscriptions receive."}],
        "security": [{"bearer": []}, {"key": []}],
        "paths": paths,
        "webhooks": described_events(schemas),
        "components": {
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "key": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
            },
            "schemas": {**schemas.components, "Error": error_schema()},
        },
    }


def _operation(row: Endpoint, schemas: Schemas, key_required: bool) -> dict[str, Any]:
    words = row.handler.__name__.split("_")
    operation: dict[str, Any] = {
        "operationId": row.operation,
        "tags": [tag_of(row)],
        "summary": row.summary,
        "parameters": list(_parameters(row, key_required)),
        "responses": responses_of(row, schemas),
    }
    if row.scope is not None:
        operation["description"] = f"Needs the scope `{row.scope}`."
    if not row.token:
        operation["security"] = []
    if row.reader.takes_body:
        schema = schemas.of_body(row.reader, "".join(map(str.capitalize, words)))
        body = examples.body_of(row)
        content: dict[str, Any] = {"schema": schema, "example": body}
        if "page_id" in row.reader.one_of:
            del content["example"]
            bodies = {"onePage": body, "severalPages": examples.several_pages(body)}
            content["examples"] = {name: {"value": value} for name, value in bodies.items()}
        operation["requestBody"] = {"required": True, "content": {"application/json": content}}
    elif row.streams:
        operation["requestBody"] = {"required": True, "content": _MULTIPART}
    return operation


def _call(row: Endpoint, base: str) -> Call:
    """Returns the HTTP request that the operation's code samples show."""
    path = row.path
    for name in row.path_names:
        path = path.replace(f"{{{name}}}", examples.path_value(row, name))
    in_query = [] if row.reader.takes_body else [field for field in row.reader.own_fields if field.required]
    query = urlencode({field.name: examples.query_value(row, field.name) for field in in_query})
    return Call(
        method=row.method,
        url=base + path + (f"?{query}" if query else ""),
        headers={"Idempotency-Key": _KEY} if row.idempotent else {},
        needs_token=row.token,
        body=examples.body_of(row) if row.reader.takes_body else None,
        file="bread.jpg" if row.streams else None,
    )


def _parameters(row: Endpoint, key_required: bool) -> Iterator[dict[str, Any]]:
    properties = described_fields(row.request)
    for field in row.reader.fields:
        if field.name in row.path_names:
            yield {
                "name": field.name,
                "in": "path",
                "required": True,
                "schema": {"type": "string", "minLength": 1},
            }
        elif not row.reader.takes_body:
            schema = not_null(properties[field.name])
            yield {"name": field.name, "in": "query", "required": field.required, "schema": schema}
    if row.idempotent:
        yield {
            "name": "Idempotency-Key",
            "in": "header",
            "required": key_required,
            "schema": {"type": "string", "minLength": 1, "maxLength": 120},
        }
