"""The wire format of RPC: several calls in one message, several replies in one message. Pure.

Bodies are JSON. A call keeps its own caller, deadline and id inside its frame; a bad call fails alone.
"""

from typing import Any, get_type_hints

import msgspec
from msgspec import Raw

from contracts.errors import ERRORS, SERVER_ERROR, SERVICE_UNAVAILABLE, ApiError
from contracts.senders import callers_of

#: Messages stay under 256 KiB (architecture); a frame takes no further call past this.
MAX_FRAME_BYTES = 128 * 1024
#: What a decoder makes of a body that is not what it should be: also of bad UTF-8 within strings, and of deep nesting.
UNREADABLE = (msgspec.MsgspecError, ValueError, RecursionError)
#: Answered by the server itself: the service is reachable and its database answers.
PING = "_ping"
#: In the extras of a call's failure: why it was refused, for the log of its caller.
REFUSED = "refused"


class Call(msgspec.Struct, omit_defaults=True):
    """One call in a request frame. `ttl` is the seconds left of its deadline when the frame was sent."""

    id: int
    method: str
    ttl: float
    caller: Raw
    request: Raw
    #: W3C's; "" where nothing is traced.
    traceparent: str = ""


class RequestFrame(msgspec.Struct):
    """When it was sent: what it has waited in the queue comes off each call's ttl (`lateness.py`)."""

    #: Unix time, by the sender's clock: for services of a release before `steady`.
    sent_at: float
    calls: list[Call]
    #: By a clock of the sender's that is never set.
    steady: float | None = None


class Failure(msgspec.Struct):
    code: str
    message: str
    extras: dict[str, Any] = {}


class Reply(msgspec.Struct, omit_defaults=True):
    """One reply: exactly one of result and error."""

    id: int
    result: Raw = Raw(b"null")
    error: Failure | None = None


class ReplyFrame(msgspec.Struct):
    replies: list[Reply]


decode_requests = msgspec.json.Decoder(RequestFrame).decode
decode_replies = msgspec.json.Decoder(ReplyFrame).decode
encode = msgspec.json.Encoder().encode


def refusal_of(reason: str) -> Failure:
    """Of a call that its sender may not make. Nobody outside learns why: to a client the service is unavailable."""
    extras = {"retry_after_seconds": 1, REFUSED: reason}
    return Failure(code=SERVICE_UNAVAILABLE.code, message=SERVICE_UNAVAILABLE.message, extras=extras)


def failure_of(error: ApiError) -> Failure:
    return Failure(code=error.code, message=error.message, extras=error.extras)


def error_of(failure: Failure) -> ApiError:
    """A code this release does not know (a newer service) becomes SERVER_ERROR with its message."""
    return ApiError(ERRORS.get(failure.code, SERVER_ERROR), failure.message, **failure.extras)


def parts_of(replies: list[Reply]) -> list[list[Reply]]:
    """Cuts replies into frames of at most MAX_FRAME_BYTES (a single larger reply goes alone)."""
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
    """The types of one method of a service's surface."""

    name: str
    request: type
    result: type
    #: Who may call it.
    callers: frozenset[str] = frozenset()


def methods_of(api: type) -> dict[str, Method]:
    """The RPC surface a Protocol declares: every public `def name(self, caller, request) -> result`.

    Raises TypeError where the Protocol does not say who calls.
    """
    found, callers = {}, callers_of(api)
    for name, function in vars(api).items():
        if not name.startswith("_") and callable(function):
            hints = get_type_hints(function)
            found[name] = Method(
                name=name, request=hints["request"], result=hints["return"], callers=callers[name]
            )
    return found
