"""`@endpoint` declares one operation of the API; routing, admission, validation and /openapi.json follow from it."""

import re
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import Any, Self, get_type_hints

from contracts.errors import ApiError, ErrorRow
from gateway.http.request_reader import Reader

#: Time for one request, its calls to services included: clients and load balancers often give up after 15 to 60 s.
DEADLINE_SECONDS = 10.0

_PLACEHOLDER = re.compile(r"\{(\w+)\}")


@dataclass(eq=False)
class Endpoint:
    """One operation of the API. An instance is also the decorator of the operation's handler, which is called as
    `(exchange, request) -> result`."""

    method: str
    #: The path, below the base path unless `outside`; `{id}` names a field of the request.
    path: str
    _: KW_ONLY
    #: The scope that the token must hold; None: any valid token.
    scope: str | None
    #: The monthly bucket that a call counts in: reads, publishes, replies or writes; "": per minute and day only.
    meter: str
    #: The type of the answer: a record; bytes: a file, with ranges and conditional requests; str: an HTML page; None:
    #: an empty answer. By default the handler's return type.
    result: Any = ...
    status: int = 200
    #: Whether the endpoint takes an Idempotency-Key. By default writes do.
    idempotent: bool | None = None
    deadline_seconds: float = DEADLINE_SECONDS
    #: Errors of this endpoint, besides those of every endpoint.
    errors: tuple[ErrorRow, ...] = ()
    #: False: the endpoint needs no token, and no request is counted.
    token: bool = True
    #: Whether the path is not below the base path.
    outside: bool = False
    #: Whether the handler reads a multipart body itself, as it arrives.
    streams: bool = False
    #: Headers of this endpoint's answers, besides those of every answer.
    headers: tuple[str, ...] = ()
    #: Whether the answer shows a secret: it is then encrypted while it is kept for repetitions.
    shows_secret: bool = False
    #: The result type of a request for several pages: sent with `status` if all pages succeeded, with 207 if only some
    #: did.
    several: type | None = None
    #: Whether successful calls are in the request log. False for reading the log: clients that poll it would fill it.
    is_logged: bool = True
    #: Adds headers to an error, if the token has the scope and the service `quota` has admitted the call.
    on_refusal: Callable[[Any, ApiError], None] | None = None
    handler: Callable[[Any, Any], Any] = field(init=False)
    request: type = field(init=False)
    reader: Reader = field(init=False)

    def __call__(self, handler: Callable[[Any, Any], Any]) -> Self:
        _, self.request, result = get_type_hints(handler).values()
        self.handler = handler
        self.result = result if self.result is ... else self.result
        takes_body = self.method in ("POST", "PATCH", "PUT")
        self.reader = Reader(self.request, self.path_names, takes_body=takes_body)
        if self.idempotent is None:
            self.idempotent = takes_body or self.method == "DELETE"
        return self

    @cached_property
    def operation(self) -> str:
        """The operationId in OpenAPI: the handler's name in camel case."""
        first, *others = self.handler.__name__.split("_")
        return first + "".join(map(str.capitalize, others))

    @property
    def summary(self) -> str:
        """The first paragraph of the handler's docstring."""
        return " ".join((self.handler.__doc__ or "").split("\n\n")[0].split())

    @property
    def path_names(self) -> frozenset[str]:
        return frozenset(_PLACEHOLDER.findall(self.path))

    @property
    def rule(self) -> str:
        """The path in the syntax of Flask's routes."""
        return _PLACEHOLDER.sub(r"<\1>", self.path)


endpoint = Endpoint
