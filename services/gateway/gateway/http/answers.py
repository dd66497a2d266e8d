"""Answers to HTTP requests: status, body and headers.

`gateway.app` adds the headers that depend on the token (rate, tier, scopes).
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from contracts.errors import ApiError

JSON = "application/json"
#: Headers of every JSON answer, errors included: no cache keeps one caller's answer for another, and no browser
#: interprets user-written text as a page.
JSON_HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}

_encode = msgspec.json.Encoder().encode
#: The last three digits of `…_at`, `…time`, `…sAt`, `…est` (earliest, latest) and `at`: msgspec writes microseconds,
#: our timestamps are whole milliseconds.
_MICROSECONDS = re.compile(
    rb'000(?=Z")(?<=(?:_at|ime|sAt|est|"at)":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}000)'
)


def encode(value: Any) -> bytes:
    """Encodes a value as JSON. Times are ISO 8601 texts with milliseconds (docs/decisions.md, "Timestamps out")."""
    return _MICROSECONDS.sub(b"", _encode(value))


@dataclass(slots=True)
class Answer:
    status: int
    #: A body that is not bytes is streamed, then closed; such an answer is never kept for a repetition.
    body: bytes | Iterable[bytes]
    headers: dict[str, str] = field(default_factory=dict)
    content_type: str = JSON

    @property
    def whole(self) -> bytes:
        """The whole body. Only for an answer that is not streamed."""
        assert isinstance(self.body, bytes)
        return self.body

    def http_headers(self, request_id: str) -> dict[str, str]:
        """Returns X-Request-Id and the answer's own headers. For a JSON answer adds the headers that forbid caching it
        and guessing its type, unless its own headers replace them.

        `gateway.app` adds the headers about the token, such as X-API-Tier.
        """
        of_kind = JSON_HEADERS if self.content_type == JSON else {}
        return {"X-Request-Id": request_id, **of_kind, **self.headers}


def success(status: int, result: Any, headers: dict[str, str]) -> Answer:
    return Answer(status, encode(result), dict(headers))


def refusal(error: ApiError, request_id: str, *, waiting_helps: bool = True) -> Answer:
    """Builds the answer to a refused request (docs/spec.md, "Errors"). Its body has error, code, request_id, and the
    extra fields of the code.

    With `waiting_helps` adds the header Retry-After, if the error says how long to wait.
    """
    body = {"error": error.message, "code": error.code, "request_id": request_id, **error.extras}
    headers = {}
    retry_after = error.extras.get("retry_after_seconds")
    if waiting_helps and isinstance(retry_after, int | float):
        headers["Retry-After"] = str(max(1, -int(-retry_after // 1)))
    if error.row.http_status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return Answer(error.row.http_status, encode(body), headers)
