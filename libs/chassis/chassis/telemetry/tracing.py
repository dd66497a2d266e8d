"""The hooks that other code calls to trace its work. While tracing is off (the default), each costs one branch.

While tracing is on, `spans.Spans` does the work. The W3C `traceparent` travels in each call of a frame, in the header
of an event's message, and in rows that a worker processes later. `tracestate` is not passed on. No hook raises an
error.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

from contracts.caller import Caller
from contracts.events import Event

if TYPE_CHECKING:
    from opentelemetry.trace import Span

    from chassis.telemetry.spans import Spans

_spans: "Spans | None" = None
#: Name of the header and the column.
HEADER = "traceparent"


class Nothing:
    """The object that a `with` block gets from the functions of this module while tracing is off. Its methods do
    nothing.
    """

    def answered(self, status: int, caller: Caller) -> None:
        """Does nothing; `spans.Traced.answered` records the status."""

    def got(self, status: int) -> None:
        """Does nothing; `spans.Traced.got` records the status."""


_NOTHING: AbstractContextManager[Any] = nullcontext(Nothing())
_NO_CALL: "tuple[Span | None, str]" = (None, "")


def switch_on(spans: "Spans") -> None:
    global _spans
    _spans = spans


def switch_off() -> None:
    global _spans
    _spans = None


def is_on() -> bool:
    return _spans is not None


def traceparent() -> str:
    """Returns the current traceparent, for work that continues elsewhere or later; "" without a trace."""
    return "" if _spans is None else _spans.traceparent()


def request(method: str, route: str, cause: str, request_id: str) -> AbstractContextManager[Any]:
    """Traces an HTTP request, in a `with` block. `cause` is the traceparent that the client sent.

    Call `answered` on the result with the status of the answer.
    """
    return _NOTHING if _spans is None else _spans.request(method, route, cause, request_id)


def calling(service: str, method: str) -> "tuple[Span | None, str]":
    """Begins the span of a call to a service.

    Returns the span, which `called` ends, and the traceparent to send. The span is None while tracing is off, and in a
    trace that is not recorded.
    """
    return _NO_CALL if _spans is None else _spans.calling(service, method)


def called(span: "Span", error: BaseException | None) -> None:
    """Ends the span of a call that has an answer or has failed."""
    if _spans is not None:
        _spans.called(span, error)


class HasCause(Protocol):
    """Something that waits to be processed, with the traceparent of the work that caused it."""

    @property
    def cause(self) -> str: ...


def on_behalf(waiting: Sequence[HasCause]) -> AbstractContextManager[Any]:
    """Traces work for several items at once: continues the trace of the first sampled item, and links to all sampled
    ones."""
    return _NOTHING if _spans is None else _spans.on_behalf([one.cause for one in waiting])


def serving(service: str, method: str, caller: Caller, cause: str) -> AbstractContextManager[Any]:
    """Traces the work of a service on one RPC call."""
    return _NOTHING if _spans is None else _spans.serving(service, method, caller, cause)


def in_database(name: str, kind: str) -> AbstractContextManager[Any]:
    """Traces a transaction or a statement. Recorded only inside a recorded span."""
    return _NOTHING if _spans is None else _spans.in_database(name, kind)


def sending(event: str, cause: str | None, staged_at: datetime) -> dict[str, Any] | None:
    """Traces the sending of an event that waited in the outbox. Returns the headers that carry the traceparent in the
    event's message; None without a trace.
    """
    if _spans is None or not cause:
        return {HEADER: cause} if cause else None
    return {HEADER: _spans.sending(event, cause, staged_at)}


def handling(service: str, events: Sequence[Event], causes: Sequence[str]) -> AbstractContextManager[Any]:
    """Traces the handling of events in one span, linked to the traceparents of all of them."""
    return _NOTHING if _spans is None else _spans.handling(service, events, causes)


def cause_of(event_id: str) -> str | None:
    """Returns the traceparent for later work on this event; None without a trace. Call it inside a `handling` block."""
    return None if _spans is None else _spans.cause_of(event_id)


def working(
    name: str, cause: str | None, service: str, account_id: str = "", **attributes: str | int
) -> AbstractContextManager[Any]:
    """Traces work on a row that was written earlier. `cause` is the traceparent of the work that wrote the row."""
    return _NOTHING if _spans is None else _spans.working(name, cause or "", service, account_id, attributes)


def outbound(method: str, host: str, *, counts: bool = True) -> AbstractContextManager[Any]:
    """Traces a call to an external server. Sends no header, and records only the host of the address.

    With `counts`, records the call's duration by host. Pass False for a host that a stranger has named.
    """
    return _NOTHING if _spans is None else _spans.outbound(method, host, counts=counts)


def add_ids(_logger: object, _method: str, event: Any) -> Any:
    """A structlog processor that adds the ids of the current trace to a log line."""
    return event if _spans is None else _spans.add_ids(event)
