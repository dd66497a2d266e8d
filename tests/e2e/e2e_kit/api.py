"""A client of the REST API with one token, and functions that check error responses."""

import datetime as dt
from typing import Any

import requests

from e2e_kit import secrecy

TIMEOUT_SECONDS = 90.0
BASE_PATH = "/api/v1"

Json = dict[str, Any]


class Api:
    """A client of the REST API with one token. Paths begin after `/api/v1`; a path `/auth/…` is relative to the root.
    Connections stay open until `close`.
    """

    def __init__(self, base_url: str, token: str | None = None, pool_size: int = 10) -> None:
        self.base_url = base_url
        self.token = token
        secrecy.note(token)
        self.session = requests.Session()
        self.session.trust_env = False  # otherwise each call looks for a proxy and a .netrc file
        self.session.mount("http://", requests.adapters.HTTPAdapter(pool_maxsize=pool_size))

    def call(self, method: str, path: str, *, key: str | None = None, **options: Any) -> requests.Response:
        """Sends a request and returns the response. `key` is the Idempotency-Key; the other options are those of
        `requests`.
        """
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        if key is not None:
            headers["Idempotency-Key"] = key
        headers |= options.pop("headers", {})
        options.setdefault("timeout", TIMEOUT_SECONDS)
        secrecy.note_request(options.get("json"))
        base_url = self.base_url.removesuffix(BASE_PATH) if path.startswith("/auth/") else self.base_url
        answer = self.session.request(method, base_url + path, headers=headers, **options)
        if answer.headers.get("Content-Type") == "application/json":
            secrecy.note_answer(answer.text)
        return answer

    def get(self, path: str, status: int = 200, /, **query: Any) -> Json:
        """Sends a GET, asserts the status and returns the body."""
        return body_of(self.call("GET", path, params=query), status)

    def post(self, path: str, body: Any = None, status: int = 201, key: str | None = None) -> Json:
        return body_of(self.call("POST", path, json={} if body is None else body, key=key), status)

    def patch(self, path: str, body: Any, status: int = 200, key: str | None = None) -> Json:
        return body_of(self.call("PATCH", path, json=body, key=key), status)

    def put(self, path: str, body: Any, status: int = 200, key: str | None = None) -> Json:
        return body_of(self.call("PUT", path, json=body, key=key), status)

    def delete(self, path: str, status: int = 200, key: str | None = None) -> Json:
        return body_of(self.call("DELETE", path, key=key), status)

    def close(self) -> None:
        self.session.close()


def body_of(answer: requests.Response, status: int) -> Json:
    """Asserts the status of a response and returns its JSON body."""
    assert answer.status_code == status, told(answer)
    body: Json = answer.json()
    assert isinstance(body, dict), told(answer)
    return body


def refused(answer: requests.Response, status: int, code: str, **extras: Any) -> Json:
    """Asserts that a response is an error of the API with this status, this code and these further fields. Returns its
    body.
    """
    assert (answer.status_code, error_code(answer)) == (status, code), told(answer)
    body: Json = answer.json()
    assert isinstance(body["error"], str), body
    assert body["error"], body
    assert body["request_id"] == answer.headers["X-Request-Id"], body
    assert {name: body.get(name) for name in extras} == extras, body
    return body


def error_code(answer: requests.Response) -> str | None:
    """Returns the code of an error of the API, or None for any other response."""
    try:
        body = answer.json()
    except ValueError:
        return None
    return body.get("code") if isinstance(body, dict) else None


def told(answer: requests.Response) -> str:
    """Describes a response in one line, for the message of a failed assertion."""
    return f"{answer.request.method} {answer.request.path_url} → {answer.status_code} {answer.text[:1500]}"


def stamp(at: dt.datetime) -> str:
    """Formats a time as the API does: in UTC, with milliseconds only if they are not zero."""
    at = at.astimezone(dt.UTC)
    return at.isoformat(timespec="milliseconds" if at.microsecond >= 1_000 else "seconds").replace(
        "+00:00", "Z"
    )


def instant(text: str) -> dt.datetime:
    """Parses a time of the API: UTC, ending in Z."""
    assert text.endswith("Z"), text
    return dt.datetime.fromisoformat(text)


def inputs_of(operation: Json, schemas: Json) -> list[str]:
    """Returns the names of an operation's query parameters, and of the fields of its JSON bodies. `operation` and
    `schemas` are parts of the OpenAPI document.
    """
    content = operation.get("requestBody", {}).get("content", {})
    body = content.get("application/json", {}).get("schema", {})
    bodies = [schemas[one["$ref"].rpartition("/")[2]] for one in body.get("oneOf", [body] if body else [])]
    return [one["name"] for one in operation["parameters"] if one["in"] == "query"] + [
        field for one in bodies for field in one["properties"]
    ]
