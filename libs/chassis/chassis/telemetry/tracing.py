"""The hooks of tracing. Off (the default): a branch each, no OpenTelemetry. On: `spans.Spans` does it.

What goes along is W3C's `traceparent`, a short text: in each call of a frame, in the header of an event's message, and
in the rows that somebody works on later. `tracestate` is not carried. Nothing here raises.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

from contracts.caller import Caller
from contracts.events import Event

if TYPE_CHECKING:
    from chassis.telemetry.recording import Recorded
    from chassis.telemetry.spans import Spans

_spans: "Spans | None" = None
#: Name of the header of messages, requests and rows.
HEADER = "traceparent"


class Nothing:
    """What a hook gives that does nothing."""

    def answered(self, status: int, caller: Caller) -> None:
        """See `spans.Request`."""

    def got(self, status: int) -> None:
        """See `spans.Outbound`."""


_NOTHING: AbstractContextManager[Any] = nullcontext(Nothing())
_NO_CALL: "tuple[Recorded | None, str]" = (None, "")


def switch_on(spans: "Spans") -> None:
    global _spans
    _spans = spans


def switch_off() -> None:
    global _spans
    _spans = None


def is_on() -> bool:
    return _spans is not None


def traceparent() -> str:
    """Of what runs here now, for whoever goes on with it elsewhere or later; "" where nothing is traced."""
    return "" if _spans is None else _spans.traceparent()


def request(method: str, route: str, cause: str, request_id: str) -> AbstractContextManager[Any]:
    """Around an HTTP request. `cause`: the traceparent it came with. Tell the result its status: `answered`."""
    return _NOTHING if _spans is None else _spans.request(method, route, cause, request_id)


def calling(service: str, method: str) -> "tuple[Recorded | None, str]":
    """A call to a service: its span, if there is one, to be ended by `called`; and the traceparent it takes along."""
    return _NO_CALL if _spans is None else _spans.calling(service, method)


def called(span: "Recorded", error: BaseException | None) -> None:
    """The answer to a call has come, or will not come."""
    if _spans is not None:
        _spans.called(span, error)


class HasCause(Protocol):
    """Somebody waiting, with the traceparent of what waits."""

    @property
    def cause(self) -> str: ...


def on_behalf(waiting: Sequence[HasCause]) -> AbstractContextManager[Any]:
    """Around what is done once for several: it goes on with the first that is recorded, linked to all of those."""
    return _NOTHING if _spans is None else _spans.on_behalf([one.cause for one in waiting])


def serving(service: str, method: str, caller: Caller, cause: str) -> AbstractContextManager[Any]:
    """Around the work of a call."""
    return _NOTHING if _spans is None else _spans.serving(service, method, caller, cause)


def in_database(name: str, kind: str) -> AbstractContextManager[Any]:
    """Around a transaction or a statement; recorded only within something that is."""
    return _NOTHING if _spans is None else _spans.in_database(name, kind)


def sending(event: str, cause: str | None, staged_at: datetime) -> dict[str, Any] | None:
    """Headers of an event's message that leaves the outbox."""
    if _spans is None or not cause:
        return {HEADER: cause} if cause else None
    return {HEADER: _spans.sending(event, cause, staged_at)}


def handling(service: str, events: Sequence[Event], causes: Sequence[str]) -> AbstractContextManager[Any]:
    """Around the effect of events with the traceparents they came with: one span, linked to all of those."""
    return _NOTHING if _spans is None else _spans.handling(service, events, causes)


def cause_of(event_id: str) -> str | None:
    """Within `handling`: the traceparent with which work on this event goes on later."""
    return None if _spans is None else _spans.cause_of(event_id)


def working(
    name: str, cause: str | None, service: str, account_id: str = "", **attributes: str | int
) -> AbstractContextManager[Any]:
    """Around work on a row that was written earlier: goes on with its trace, linked to what wrote it."""
    return _NOTHING if _spans is None else _spans.working(name, cause or "", service, account_id, attributes)


def outbound(method: str, host: str, *, counts: bool = True) -> AbstractContextManager[Any]:
    """Around a call to the outside world. Nothing is sent along, and of its address only the host is kept.

    `counts`: measured by host; not where strangers name the hosts.
    """
    return _NOTHING if _spans is None else _spans.outbound(method, host, counts=counts)


def add_ids(_logger: object, _method: str, event: Any) -> Any:
    """structlog's processor: which trace a line belongs to."""
    return event if _spans is None else _spans.add_ids(event)
