"""The `@endpoint` row, one per operation: routing, identity, metering, reading and /openapi.json follow."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from contracts.errors import ApiError, ErrorRow
from contracts.record import Nothing
from gateway.http.request_reader import Reader

#: Total time of one request, calls included. Our choice.
DEADLINE_SECONDS = 10.0

_PLACEHOLDER = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """One operation of the API."""

    method: str
    #: Below the base path unless `outside`; `{id}` names a field of the request.
    path: str
    handler: Callable[[Any, Any], Any]
    summary: str
    #: The scope a token must hold; None: any valid token.
    scope: str | None
    #: The month bucket a call uses: reads, publishes, replies, writes, or "" for minute and day alone.
    meter: str
    request: type
    #: bytes: a file, and all that partial and conditional requests bring with them; str: a page for people; None: an
    #: empty answer.
    result: type | None
    status: int
    #: Whether an Idempotency-Key is honoured.
    idempotent: bool
    deadline_seconds: float
    #: What it may refuse with besides what every endpoint may.
    errors: tuple[ErrorRow, ...]
    #: False: no token is asked for, nothing is counted.
    token: bool
    #: Not below the base path.
    outside: bool
    #: A multipart body that the handler reads as it arrives.
    streams: bool
    #: Of its answers, besides those that every answer has.
    headers: tuple[str, ...]
    #: Its answer holds a secret that is shown once: what is kept of it for repetitions is sealed.
    tells_secret: bool
    #: What a request about several things gets: all with `status`, some with 207.
    several: type | None
    #: Called when it refuses one who holds the scope and whom quota let in: for headers that refusals have too.
    on_refusal: Callable[[Any, ApiError], None] | None
    reader: Reader = field(init=False)

    def __post_init__(self) -> None:
        takes_body = self.method in ("POST", "PATCH")
        object.__setattr__(self, "reader", Reader(self.request, self.path_names, takes_body=takes_body))

    @property
    def path_names(self) -> frozenset[str]:
        return frozenset(_PLACEHOLDER.findall(self.path))

    @property
    def rule(self) -> str:
        """The path as Flask writes it."""
        return _PLACEHOLDER.sub(r"<\1>", self.path)


def endpoint(
    method: str,
    path: str,
    *,
    scope: str | None,
    meter: str,
    result: type | None,
    request: type = Nothing,
    status: int = 200,
    idempotent: bool | None = None,
    deadline_seconds: float = DEADLINE_SECONDS,
    errors: tuple[ErrorRow, ...] = (),
    token: bool = True,
    outside: bool = False,
    streams: bool = False,
    headers: tuple[str, ...] = (),
    tells_secret: bool = False,
    several: type | None = None,
    on_refusal: Callable[[Any, ApiError], None] | None = None,
) -> Callable[[Callable[[Any, Any], Any]], Endpoint]:
    """Turns a handler `(exchange, request) -> result` into its row. Writes take keys unless it says no."""

    def row(handler: Callable[[Any, Any], Any]) -> Endpoint:
        return Endpoint(
            method=method,
            path=path,
            handler=handler,
            summary=(handler.__doc__ or "").strip().split("\n")[0],
            scope=scope,
            meter=meter,
            request=request,
            result=result,
            status=status,
            idempotent=method in ("POST", "PATCH", "DELETE") if idempotent is None else idempotent,
            deadline_seconds=deadline_seconds,
            errors=errors,
            token=token,
            outside=outside,
            streams=streams,
            headers=headers,
            tells_secret=tells_secret,
            several=several,
            on_refusal=on_refusal,
        )

    return row
