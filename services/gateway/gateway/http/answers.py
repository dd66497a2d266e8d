"""Answers before they become HTTP: status, body bytes and own headers.

What every answer carries (request id, rate, scopes) is added last, in `app`.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from contracts.errors import ApiError

JSON = "application/json"
#: Of every JSON answer, refusals included: what one caller was told is kept by no cache on the way, and no browser
#: takes text that a user wrote for a page.
JSON_HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}

_encode = msgspec.json.Encoder().encode
#: The last three digits of `…_at`, `…time`, `…sAt`, `…est` (earliest, latest) and `at`: msgspec writes microseconds,
#: ours are whole milliseconds.
_MICROSECONDS = re.compile(
    rb'000(?=Z")(?<=(?:_at|ime|sAt|est|"at)":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}000)'
)


def encode(value: Any) -> bytes:
    """JSON, timestamps in milliseconds (decisions "Timestamps out")."""
    return _MICROSECONDS.sub(b"", _encode(value))


@dataclass(slots=True)
class Answer:
    status: int
    #: What is no bytes is streamed, then closed; such an answer is never kept for a repetition.
    body: bytes | Iterable[bytes]
    headers: dict[str, str] = field(default_factory=dict)
    content_type: str = JSON

    @property
    def whole(self) -> bytes:
        """The body of an answer that is not streamed."""
        assert isinstance(self.body, bytes)
        return self.body

    def http_headers(self, request_id: str) -> dict[str, str]:
        """The headers that go out with it, but for those of the caller's token. Its own come last."""
        of_kind = JSON_HEADERS if self.content_type == JSON else {}
        return {"X-Request-Id": request_id, **of_kind, **self.headers}


def success(status: int, result: Any, headers: dict[str, str]) -> Answer:
    return Answer(status, encode(result), dict(headers))


def refusal(error: ApiError, request_id: str, *, passes: bool = True) -> Answer:
    """Spec "Errors": error, code, request_id, and the code's extra fields. `passes`: waiting alone helps."""
    body = {"error": error.message, "code": error.code, "request_id": request_id, **error.extras}
    headers = {}
    retry_after = error.extras.get("retry_after_seconds")
    if passes and isinstance(retry_after, int | float):
        headers["Retry-After"] = str(max(1, -int(-retry_after // 1)))
    if error.row.http_status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return Answer(error.row.http_status, encode(body), headers)
