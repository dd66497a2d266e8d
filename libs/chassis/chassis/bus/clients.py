"""The typed clients of services: `publishing = bus.service("publishing")`, `publishing.schedule_post(caller, request)`.

A client has the methods of the service's Protocol in contracts. Every method also accepts the argument
`timeout_seconds`, and `client.method.start(…)` sends a call without waiting for its answer. `remote(client.method)`
tells the type checker about both.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Literal, Protocol, TypeVar, cast, overload

from msgspec import Raw

from chassis.bus.frames import Method, methods_of
from chassis.bus.pending import PendingCall
from contracts.accounts import AccountsApi
from contracts.ai import AiApi
from contracts.caller import Caller
from contracts.media import MediaApi
from contracts.publishing import PublishingApi
from contracts.quota import QuotaApi
from contracts.record import Record
from contracts.services import SERVICES
from contracts.webhooks import WebhooksApi

Api = TypeVar("Api")
Request = TypeVar("Request")
Result = TypeVar("Result")
RequestIn = TypeVar("RequestIn", contravariant=True)
ResultOut = TypeVar("ResultOut", covariant=True)

DEFAULT_TIMEOUT_SECONDS = 10.0


class Pending(Protocol[ResultOut]):
    """A call that may still be unanswered. Both methods wait for the answer, and raise ApiError if the call fails."""

    def result(self) -> ResultOut:
        """Returns the answer as the contract's record."""

    def json(self) -> Raw:
        """Returns the answer as JSON, exactly as the service wrote it."""


class RemoteMethod(Protocol[RequestIn, ResultOut]):
    """One RPC method of a service, as its client offers it."""

    def __call__(self, caller: Caller, request: RequestIn, *, timeout_seconds: float) -> ResultOut:
        """Calls the method and waits for the answer. Raises ApiError if the call fails or no answer comes in time."""

    def start(
        self,
        caller: Caller,
        request: RequestIn,
        *,
        timeout_seconds: float,
        then: Callable[[Pending[ResultOut]], None] | None = None,
    ) -> Pending[ResultOut]:
        """Sends the call without waiting for its answer.

        `then` runs in the bus's I/O thread when the call has been answered or has failed.
        """


def remote(method: Callable[[Caller, Request], Result]) -> RemoteMethod[Request, Result]:
    """Returns `method` unchanged, with a type that tells the type checker about `timeout_seconds` and `start`.

    A client's methods accept both, but their types in the service's Protocol have neither. Example:
    `remote(services.publishing.get_page).start(…)`.
    """
    return cast("RemoteMethod[Request, Result]", method)


class Clients(ABC):
    """Base class of the bus: makes a client for each service."""

    @overload
    def service(self, name: Literal["accounts"]) -> AccountsApi: ...
    @overload
    def service(self, name: Literal["ai"]) -> AiApi: ...
    @overload
    def service(self, name: Literal["media"]) -> MediaApi: ...
    @overload
    def service(self, name: Literal["publishing"]) -> PublishingApi: ...
    @overload
    def service(self, name: Literal["quota"]) -> QuotaApi: ...
    @overload
    def service(self, name: Literal["webhooks"]) -> WebhooksApi: ...
    @overload
    def service(self, name: str, api: type[Api]) -> Api: ...

    def service(self, name: str, api: type[Any] | None = None) -> Any:
        """Returns a client with the methods of `api`, by default the service's Protocol in contracts.services."""
        return _Client(self, name, methods_of(api or SERVICES[name]))

    @abstractmethod
    def start(
        self,
        service: str,
        method: Method,
        caller: Caller,
        request: Record,
        timeout_seconds: float,
        then: Callable[[PendingCall], None] | None = None,
    ) -> PendingCall:
        """Sends a call without waiting for its answer. `then` works as in `RemoteMethod.start`."""


class _Client:
    def __init__(self, clients: Clients, service: str, methods: dict[str, Method]) -> None:
        for name, method in methods.items():
            setattr(self, name, _BoundMethod(clients, service, method))


class _BoundMethod:
    """Implements `RemoteMethod` for one method of a client."""

    __slots__ = ("_clients", "_method", "_service")

    def __init__(self, clients: Clients, service: str, method: Method) -> None:
        self._clients, self._service, self._method = clients, service, method

    def __call__(
        self, caller: Caller, request: Record, *, timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS
    ) -> object:
        return self._clients.start(self._service, self._method, caller, request, timeout_seconds).result()

    def start(
        self,
        caller: Caller,
        request: Record,
        *,
        timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS,
        then: Callable[[PendingCall], None] | None = None,
    ) -> PendingCall:
        return self._clients.start(self._service, self._method, caller, request, timeout_seconds, then)
