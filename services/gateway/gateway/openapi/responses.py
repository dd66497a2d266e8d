"""The responses of an operation in `/openapi.json`: success with its headers, and one per status of errors. Pure."""

from http import HTTPStatus
from typing import Any

from contracts import errors
from contracts.errors import ERRORS, ErrorRow
from contracts.media import MIME_TYPES
from gateway.endpoint import Endpoint
from gateway.openapi.error_fields import ERROR_FIELDS
from gateway.openapi.examples import example_of
from gateway.openapi.schemas import Schemas

#: Errors of every endpoint.
_EVERYWHERE = (
    errors.INVALID_JSON,
    errors.MISSING_FIELD,
    errors.INVALID_DATE,
    errors.VALIDATION_ERROR,
    errors.NOT_FOUND,
    errors.METHOD_NOT_ALLOWED,
    errors.PAYLOAD_TOO_LARGE,
    errors.UNSUPPORTED_MEDIA_TYPE,
    errors.RATE_LIMITED,
    errors.SERVER_ERROR,
    errors.SERVICE_UNAVAILABLE,
)
#: Errors of every endpoint that needs a token.
_WITH_TOKEN = (
    errors.MISSING_TOKEN,
    errors.INVALID_TOKEN,
    errors.TOKEN_REVOKED,
    errors.TOKEN_EXPIRED,
    errors.SANDBOX_EXHAUSTED,
    errors.MISSING_SCOPE,
    errors.IP_NOT_ALLOWED,
    errors.COLLABORATOR_INSUFFICIENT,
    errors.DAILY_LIMIT_EXCEEDED,
    errors.MONTHLY_QUOTA_EXCEEDED,
)
#: Errors of every write that takes a key.
_WITH_KEY = (errors.INVALID_IDEMPOTENCY_KEY, errors.IDEMPOTENCY_KEY_MISMATCH, errors.IDEMPOTENCY_IN_PROGRESS)

_RATE_HEADERS = {
    "X-RateLimit-Limit": ("integer", "Requests per minute."),
    "X-RateLimit-Remaining": ("integer", "Requests left in this minute."),
    "X-RateLimit-Reset": ("integer", "End of this minute, in Unix seconds."),
    "X-API-Tier": ("string", "The account's tier, or `sandbox`."),
    "X-API-Scopes": ("string", "The token's scopes, separated by spaces."),
}
#: Headers of single endpoints.
_ROW_HEADERS = {
    "X-Credits-Remaining": ("integer", "AI credits left, from the plan and as a bonus."),
    "ETag": ("string", "Changes when the file changes."),
}
#: Answers with a public file, besides 200.
_OF_FILES = {
    206: "The requested range.",
    304: "The client already has this file.",
    416: "The range begins after the end of the file.",
}
#: Answers with an HTML page, besides 200.
_OF_PAGES = {
    303: "Redirect to the page of the login.",
    403: "The login belongs to another browser, or the form was not sent from our page.",
}
BINARY = {"type": "string", "format": "binary"}
_PAGE = {"text/html": {"schema": {"type": "string"}}}


def refusals_of(row: Endpoint) -> tuple[ErrorRow, ...]:
    """Returns all errors that an endpoint documents."""
    return (
        *_EVERYWHERE,
        *(_WITH_TOKEN if row.token else ()),
        *(_WITH_KEY if row.idempotent else ()),
        *row.errors,
    )


def responses_of(row: Endpoint, schemas: Schemas) -> dict[str, Any]:
    """Returns the responses of an operation, by HTTP status."""
    responses = {str(row.status): _success(row, schemas), **_refusals(row)}
    if row.several is not None and row.status != HTTPStatus.OK:  # a dry run has no pages that failed
        some = {
            "description": "Some pages succeeded; each failed page has its own error.",
            "headers": _own_headers(row),
        }
        content = {
            "application/json": {"schema": schemas.of(row.several), "example": example_of(row.several)}
        }
        responses["207"] = some | {"content": content}
    if row.result is bytes:
        responses |= {
            str(status): {"description": text, "headers": _own_headers(row)}
            for status, text in _OF_FILES.items()
        }
    if row.result is str:
        responses |= {
            str(status): {"description": text, "headers": _own_headers(row), "content": _PAGE}
            for status, text in _OF_PAGES.items()
        }
    return responses


def _success(row: Endpoint, schemas: Schemas) -> dict[str, Any]:
    success = {"description": HTTPStatus(row.status).phrase, "headers": _own_headers(row)}
    if row.result is bytes:
        success["content"] = {mime_type: {"schema": BINARY} for mime_type in MIME_TYPES}
    elif row.result is str:
        success["content"] = _PAGE
    elif row.result is not None:
        kinds = [schemas.of(kind) for kind in (row.result, row.several) if kind is not None]
        schema = kinds[0] if len(kinds) == 1 else {"anyOf": kinds}
        success["content"] = {"application/json": {"schema": schema, **_examples(row)}}
    return success


def _examples(row: Endpoint) -> dict[str, Any]:
    """Returns the example of a successful answer. An operation that takes one page or several has two examples: one for
    each case.
    """
    one = example_of(row.result)
    if row.several is None:
        return {"example": one}
    named = {"onePage": one, "severalPages": example_of(row.several)}
    return {"examples": {name: {"value": value} for name, value in named.items()}}


def _own_headers(row: Endpoint) -> dict[str, Any]:
    headers: dict[str, Any] = {"X-Request-Id": _header("string", "Identifies this request in our logs.")}
    if row.token:
        headers |= {name: _header(kind, text) for name, (kind, text) in _RATE_HEADERS.items()}
    if row.idempotent:
        headers["Idempotency-Replayed"] = _header("string", "true if this repeats a kept answer.")
    for name in row.headers:
        kind, text = _ROW_HEADERS[name]
        headers[name] = _header(kind, text)
    return headers


def _header(kind: str, text: str) -> dict[str, Any]:
    return {"description": text, "schema": {"type": kind}}


def _refusals(row: Endpoint) -> dict[str, Any]:
    """Returns one response for each HTTP status of an error, with the error codes that have this status."""
    codes: dict[int, list[str]] = {}
    for error in refusals_of(row):
        found = codes.setdefault(error.http_status, [])
        if error.code not in found:
            found.append(error.code)
    refusals = {str(status): _refusal(status, codes[status]) for status in sorted(codes)}
    if row.result is str:
        for refusal in refusals.values():
            refusal["content"] |= _PAGE
    return refusals


def _refusal(status: int, codes: list[str]) -> dict[str, Any]:
    schema = {"allOf": [{"$ref": "#/components/schemas/Error"}], "properties": {"code": {"enum": codes}}}
    headers = {"X-Request-Id": _header("string", "Identifies this request in our logs.")}
    if status in (409, 429, 503):
        headers["Retry-After"] = _header("integer", "Seconds to wait before a retry.")
    description = "; ".join(f"{code}: {ERRORS[code].message}" for code in codes)
    return {
        "description": description,
        "headers": headers,
        "content": {"application/json": {"schema": schema}},
    }


def error_schema() -> dict[str, Any]:
    """Returns the schema of an error's body (docs/spec.md, "Errors")."""
    return {
        "type": "object",
        "properties": {
            "error": {"type": "string", "description": "Message for people."},
            "code": {"type": "string", "description": "Code for programs; GET /errors lists all."},
            "request_id": {"type": "string"},
            **{name: field.described() for name, field in ERROR_FIELDS.items()},
        },
        "required": ["error", "code", "request_id"],
    }
