"""The wire format of RPC: a frame is one message with several calls, or with several replies. No I/O.

Bodies are JSON. Each call in a frame has its own caller, deadline and id, and an invalid call fails alone.
"""

from collections.abc import Callable
from inspect import unwrap
from typing import Any, get_type_hints

import msgspec
from msgspec import Raw

from contracts.errors import ERRORS, SERVER_ERROR, SERVICE_UNAVAILABLE, ApiError
from contracts.senders import callers_of

#: Messages stay under 256 KiB (architecture). A frame of this size takes no further call.
MAX_FRAME_BYTES = 128 * 1024
#: Errors of the decoder for an invalid body, including invalid UTF-8 and deep nesting.
UNREADABLE = (msgspec.MsgspecError, ValueError, RecursionError)
#: Answered by the server itself, when the service and its database work.
PING = "_ping"
#: Key in the extras of a failure: why the call was refused, for the caller's log.
REFUSED = "refused"


class Call(msgspec.Struct, omit_defaults=True):
    """One call in a request frame. `ttl`: seconds from the sending of the frame to the call's deadline."""

    id: int
    method: str
    ttl: float
    caller: Raw
    request: Raw
    #: W3C traceparent; "" without a trace.
    traceparent: str = ""


class RequestFrame(msgspec.Struct):
    """A message with several calls to one service.

    The receiver subtracts from each call's ttl the time that the message waited in the queue (`lateness.py`).
    """

    calls: list[Call]
    #: The sender's monotonic clock.
    steady: float
    #: The sender's connection, a random name, and a number that rises with each of its frames to this service
    #: (`frame_order.py`).
    connection: str
    number: int
    #: Services of 1.4.0 refuse a frame without it, and do not use it. To be removed when none of them runs.
    sent_at: float = 0.0


class Failure(msgspec.Struct):
    code: str
    message: str
    extras: dict[str, Any] = {}


class Reply(msgspec.Struct, omit_defaults=True):
    """The answer to one call: either a result or an error."""

    id: int
    result: Raw = Raw(b"null")
    error: Failure | None = None


class ReplyFrame(msgspec.Struct):
    replies: list[Reply]


decode_requests = msgspec.json.Decoder(RequestFrame).decode
decode_replies = msgspec.json.Decoder(ReplyFrame).decode
encode = msgspec.json.Encoder().encode


def refusal_of(reason: str) -> Failure:
    """Returns the failure for a call that is refused because its sender is not proven, or is not permitted to make it.

    Clients only see that the service is unavailable. `reason` is for the operator.
    """
    extras = {"retry_after_seconds": 1, REFUSED: reason}
    return Failure(code=SERVICE_UNAVAILABLE.code, message=SERVICE_UNAVAILABLE.message, extras=extras)


def failure_of(error: ApiError) -> Failure:
    return Failure(code=error.code, message=error.message, extras=error.extras)


def error_of(failure: Failure) -> ApiError:
    """Turns the failure in a reply into an ApiError.

    A code that this release does not know, from a newer service, becomes SERVER_ERROR with the same message.
    """
    return ApiError(ERRORS.get(failure.code, SERVER_ERROR), failure.message, **failure.extras)


def parts_of(replies: list[Reply]) -> list[list[Reply]]:
    """Splits replies into frames of at most MAX_FRAME_BYTES. A larger reply gets its own frame."""
    parts: list[list[Reply]] = [[]]
    size = 0
    for reply in replies:
        length = len(bytes(reply.result)) + 64
        if parts[-1] and size + length > MAX_FRAME_BYTES:
            parts.append([])
            size = 0
        parts[-1].append(reply)
        size += length
    return parts


class Method(msgspec.Struct, frozen=True):
    """One RPC method: its name, its types, and the processes that may call it."""

    name: str
    request: type
    result: type
    #: Senders that may call it.
    callers: frozenset[str] = frozenset()


def methods_of(api: type) -> dict[str, Method]:
    """Returns the RPC methods of a Protocol: every public `def name(self, caller, request) -> result`.

    Raises TypeError when the Protocol has no `@called_by`.
    """
    found, callers = {}, callers_of(api)
    for name, function in vars(api).items():
        if not name.startswith("_") and callable(function):
            hints = get_type_hints(function)
            found[name] = Method(
                name=name, request=hints["request"], result=hints["return"], callers=callers[name]
            )
    return found


def check_types(function: Callable[..., Any], method: Method) -> None:
    """Raises TypeError when a function's types of request and result differ from those in the service's Protocol.

    `function` is a service's method or the use case behind it.
    """
    hints = get_type_hints(unwrap(function))
    types = (hints.get("request", method.request), hints.get("return", method.result))
    if types != (method.request, method.result):
        raise TypeError(f"{method.name} has other types than in its Protocol: {types}")
