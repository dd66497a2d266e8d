"""The full type of a service's method: the Protocols in `contracts` show its plain call alone.

A client that the bus makes also takes a deadline, and can start a call without waiting for its answer.
"""

from collections.abc import Callable
from typing import Protocol, TypeVar, cast

from msgspec import Raw

from contracts.caller import Caller

Request = TypeVar("Request")
Result = TypeVar("Result")
RequestIn = TypeVar("RequestIn", contravariant=True)
ResultOut = TypeVar("ResultOut", covariant=True)


class Pending(Protocol[ResultOut]):
    """A call whose answer may still be on its way. Both methods wait for it, and raise ApiError."""

    def result(self) -> ResultOut:
        """The answer as the contract's record."""

    def json(self) -> Raw:
        """The answer as the service wrote it."""


class RemoteMethod(Protocol[RequestIn, ResultOut]):
    """One method of a service as the bus offers it."""

    def __call__(self, caller: Caller, request: RequestIn, *, timeout_seconds: float) -> ResultOut:
        """Waits for the answer. Raises ApiError."""

    def start(
        self,
        caller: Caller,
        request: RequestIn,
        *,
        timeout_seconds: float,
        then: Callable[[Pending[ResultOut]], None] | None = None,
    ) -> Pending[ResultOut]:
        """Sends the call. `then` runs in the bus's I/O thread once the answer is there or the time is up."""


def remote(method: Callable[[Caller, Request], Result]) -> RemoteMethod[Request, Result]:
    """`method` is taken from a service's client, as in `remote(services.publishing.get_page)`."""
    return cast("RemoteMethod[Request, Result]", method)
