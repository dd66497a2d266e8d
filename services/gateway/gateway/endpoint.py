"""`@endpoint` declares one operation of the API; routing, admission, validation and /openapi.json follow from it."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, get_type_hints

from contracts.errors import ApiError, ErrorRow
from gateway.http.request_reader import Reader

#: Time for one request, its calls to services included. Our choice.
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
    #: The scope that the token must hold; None: any valid token.
    scope: str | None
    #: The monthly bucket that a call counts in: reads, publishes, replies or writes; "": per minute and day only.
    meter: str
    request: type
    #: A record; bytes: a file, with ranges and conditional requests; str: an HTML page; None: an empty answer.
    result: type | None
    status: int
    #: Whether it takes an Idempotency-Key.
    idempotent: bool
    deadline_seconds: float
    #: Its errors besides those of every endpoint.
    errors: tuple[ErrorRow, ...]
    #: False: it needs no token, and nothing is counted.
    token: bool
    #: Whether its path is not below the base path.
    outside: bool
    #: Whether the handler reads a multipart body itself, as it arrives.
    streams: bool
    #: Headers of its answers besides those of every answer.
    headers: tuple[str, ...]
    #: Whether its answer shows a secret: the answer is then kept for repetitions in encrypted form.
    shows_secret: bool
    #: The result of a request about several things: with `status` if all succeeded, with 207 if some did.
    several: type | None
    #: Adds headers to an error, if the caller holds the scope and quota has admitted the call.
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
        """The path in Flask's syntax."""
        return _PLACEHOLDER.sub(r"<\1>", self.path)


def endpoint(
    method: str,
    path: str,
    *,
    scope: str | None,
    meter: str,
    result: Any = ...,
    status: int = 200,
    idempotent: bool | None = None,
    deadline_seconds: float = DEADLINE_SECONDS,
    errors: tuple[ErrorRow, ...] = (),
    token: bool = True,
    outside: bool = False,
    streams: bool = False,
    headers: tuple[str, ...] = (),
    shows_secret: bool = False,
    several: type | None = None,
    on_refusal: Callable[[Any, ApiError], None] | None = None,
) -> Callable[[Callable[[Any, Any], Any]], Endpoint]:
    """Turns a handler `(exchange, request) -> result` into its `Endpoint`, whose types are those of its annotations.

    `result`: of a handler that returns an `Answer`. Writes take idempotency keys by default.
    """

    def row(handler: Callable[[Any, Any], Any]) -> Endpoint:
        _, request, returned = get_type_hints(handler).values()
        return Endpoint(
            method=method,
            path=path,
            handler=handler,
            summary=(handler.__doc__ or "").strip().split("\n")[0],
            scope=scope,
            meter=meter,
            request=request,
            result=returned if result is ... else result,
            status=status,
            idempotent=method in ("POST", "PATCH", "DELETE") if idempotent is None else idempotent,
            deadline_seconds=deadline_seconds,
            errors=errors,
            token=token,
            outside=outside,
            streams=streams,
            headers=headers,
            shows_secret=shows_secret,
            several=several,
            on_refusal=on_refusal,
        )

    return row
