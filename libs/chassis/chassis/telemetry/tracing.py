"""The hooks of tracing. Off (the default), each costs one branch. On, `spans.Spans` does the work.

The W3C `traceparent` is passed on in each call of a frame, in the header of an event's message, and in rows that a
worker processes later. `tracestate` is not passed on. No hook raises an error.
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
    """The result of a hook while tracing is off."""

    def answered(self, status: int, caller: Caller) -> None:
        """See `spans.Traced`."""

    def got(self, status: int) -> None:
        """See `spans.Traced`."""


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
    """Traces an HTTP request. `cause`: its traceparent. Call `answered` on the result with the status."""
    return _NOTHING if _spans is None else _spans.request(method, route, cause, request_id)


def calling(service: str, method: str) -> "tuple[Span | None, str]":
    """Begins a call to a service. Returns its span or None, which `called` ends, and the traceparent to send."""
    return _NO_CALL if _spans is None else _spans.calling(service, method)


def called(span: "Span", error: BaseException | None) -> None:
    """Ends the span of a call that has an answer or has failed."""
    if _spans is not None:
        _spans.called(span, error)


class HasCause(Protocol):
    """An item that waits, with the traceparent of its cause."""

    @property
    def cause(self) -> str: ...


def on_behalf(waiting: Sequence[HasCause]) -> AbstractContextManager[Any]:
    """Traces work that serves several items at once.

    Its span continues the trace of the first item that is sampled, and links to the traces of all sampled items.
    """
    return _NOTHING if _spans is None else _spans.on_behalf([one.cause for one in waiting])


def serving(service: str, method: str, caller: Caller, cause: str) -> AbstractContextManager[Any]:
    """Traces the work of a call."""
    return _NOTHING if _spans is None else _spans.serving(service, method, caller, cause)


def in_database(name: str, kind: str) -> AbstractContextManager[Any]:
    """Traces a transaction or a statement. Recorded only inside a recorded span."""
    return _NOTHING if _spans is None else _spans.in_database(name, kind)


def sending(event: str, cause: str | None, staged_at: datetime) -> dict[str, Any] | None:
    """Returns the headers of an event's message."""
    if _spans is None or not cause:
        return {HEADER: cause} if cause else None
    return {HEADER: _spans.sending(event, cause, staged_at)}


def handling(service: str, events: Sequence[Event], causes: Sequence[str]) -> AbstractContextManager[Any]:
    """Traces the handling of events in one span, linked to the traceparents of all of them."""
    return _NOTHING if _spans is None else _spans.handling(service, events, causes)


def cause_of(event_id: str) -> str | None:
    """Inside `handling`: returns the traceparent for later work on this event."""
    return None if _spans is None else _spans.cause_of(event_id)


def working(
    name: str, cause: str | None, service: str, account_id: str = "", **attributes: str | int
) -> AbstractContextManager[Any]:
    """Traces work on an earlier row: continues its trace, linked to the span that wrote it."""
    return _NOTHING if _spans is None else _spans.working(name, cause or "", service, account_id, attributes)


def outbound(method: str, host: str, *, counts: bool = True) -> AbstractContextManager[Any]:
    """Traces a call to an external server. Sends no header, and records only the host of the address.

    `counts`: measure it by host. Not for hosts named by strangers.
    """
    return _NOTHING if _spans is None else _spans.outbound(method, host, counts=counts)


def add_ids(_logger: object, _method: str, event: Any) -> Any:
    """Adds the ids of the current trace to a log line. A processor for structlog."""
    return event if _spans is None else _spans.add_ids(event)
