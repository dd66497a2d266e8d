"""Creates spans while tracing is on. Only `tracing` uses this module.

Recorded spans are objects of the OpenTelemetry SDK. Their attributes contain no URL, statement, token or text, but the
host of an address, the code or type of an error, and the first 16 hex digits of the SHA-256 of an account's id.
"""

import hashlib
import re
import time
from collections.abc import Mapping, Sequence
from contextvars import ContextVar, Token
from datetime import datetime
from types import TracebackType
from typing import Any

import structlog
from opentelemetry.context import Context
from opentelemetry.trace import (
    INVALID_SPAN_CONTEXT,
    Link,
    NonRecordingSpan,
    Span,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    Tracer,
    set_span_in_context,
)

from chassis.telemetry import metrics
from contracts.caller import Caller
from contracts.errors import ApiError
from contracts.events import Event

_TRACEPARENT = re.compile(r"(?!ff)([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?", re.ASCII)
#: Links of one span; the SDK's limit.
_MAX_LINKS = 128
_ROOT, _FAILED = Context(), Status(StatusCode.ERROR)
_causes: ContextVar[Mapping[str, str]] = ContextVar("causes")


def parse(traceparent: str) -> SpanContext | None:
    """Parses a traceparent of W3C Trace Context level 1. Returns None if it is malformed.

    Of a traceparent of a later level, it parses the part that level 1 defines.
    """
    match = _TRACEPARENT.fullmatch(traceparent)
    if match is None or (match[1] == "00" and match[5]):
        return None
    found = SpanContext(
        int(match[2], 16), int(match[3], 16), is_remote=True, trace_flags=TraceFlags(int(match[4], 16))
    )
    return found if found.is_valid else None


def written(context: SpanContext) -> str:
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags & 1:02x}"


class NotRecorded(NonRecordingSpan):
    """A span of a trace that is not recorded (nine in ten traces). It keeps only the traceparent, which is parsed when
    needed.
    """

    def __init__(self, traceparent: str) -> None:
        self.traceparent = traceparent

    def get_span_context(self) -> SpanContext:
        return parse(self.traceparent) or INVALID_SPAN_CONTEXT


#: The current span: the SDK's, another process's, or not recorded. OpenTelemetry's own context takes longer to enter.
_current: ContextVar[Span] = ContextVar("span", default=NotRecorded(""))  # noqa: B039 - never changed


def traceparent_of(span: Span) -> str:
    """Returns the traceparent to pass on to work that this span causes; "" without a trace."""
    if isinstance(span, NotRecorded):
        return span.traceparent
    return written(span.get_span_context())


def account_hash(account_id: str) -> str:
    return hashlib.sha256(account_id.encode()).hexdigest()[:16]


def site_of(host: str) -> str:
    """Returns the name of a host in metrics: its last two labels (`fbcdn.net` for `video-1.fbcdn.net`), because
    platforms use many hosts for files. An IP address is returned unchanged.
    """
    is_address = ":" in host or host.rpartition(".")[2].isdigit()
    return host if is_address else ".".join(host.split(".")[-2:])


class Traced:
    """A context manager for a span, which is the current span inside the block. If the histogram `duration` is given,
    the block's duration is recorded in it.
    """

    __slots__ = ("_attributes", "_began", "_duration", "_token", "span")

    def __init__(
        self,
        span: Span,
        duration: metrics.Histogram | None = None,
        attributes: dict[str, Any] | None = None,
    ) -> None:
        self.span = span
        self._duration = duration
        self._attributes = attributes or {}

    def __enter__(self) -> Any:
        self._token = _current.set(self.span)
        self._began = time.perf_counter()
        return self

    def __exit__(
        self, _type: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if self._duration is not None:
            if error is not None:
                self._attributes["error.type"] = error_type(error)
            self._duration.record(time.perf_counter() - self._began, self._attributes)
        _current.reset(self._token)
        end(self.span, error)

    def answered(self, status: int, caller: Caller) -> None:
        """Records the status of the answer to an HTTP request, and the caller, who was unknown when the span began."""
        self._attributes["http.response.status_code"] = status
        if status >= 500:
            self._attributes["error.type"] = str(status)
        if self.span.is_recording():
            self.span.set_attributes({"http.response.status_code": status, **identity(caller)})
            if status >= 500:
                self.span.set_status(_FAILED)

    def got(self, status: int) -> None:
        self._attributes["http.response.status_code"] = status
        self.span.set_attribute("http.response.status_code", status)
        if status >= 400:
            self.span.set_status(_FAILED)


class DatabaseTraced:
    """A context manager for the span of a database call.

    This span does not become the current one. So events and rows that are stored in the block get the traceparent of
    the span outside the block.
    """

    __slots__ = ("_span",)

    def __init__(self, span: Span) -> None:
        self._span = span

    def __enter__(self) -> None:
        return None

    def __exit__(self, _type: Any, error: BaseException | None, _trace: Any) -> None:
        end(self._span, error)


class TaskTraced(Traced):
    """Like `Traced`, for all the work of one green thread. If the block fails, later log lines of the thread still have
    the ids of the trace.
    """

    __slots__ = ()

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        if error[1] is not None:
            structlog.contextvars.bind_contextvars(**ids_of(self.span.get_span_context()))


class EventsTraced(TaskTraced):
    """Traces a `with` block that handles events. Inside it `cause_of` finds the traceparent of each event."""

    __slots__ = ("_causes", "_causes_token")

    def __init__(self, span: Span, causes: Mapping[str, str], attributes: dict[str, Any]) -> None:
        super().__init__(span, metrics.EVENT_DURATION, attributes)
        self._causes = causes
        self._causes_token: Token[Mapping[str, str]] | None = None

    def __enter__(self) -> Any:
        self._causes_token = _causes.set(self._causes)
        return super().__enter__()

    def __exit__(self, *error: Any) -> None:
        assert self._causes_token is not None
        _causes.reset(self._causes_token)
        super().__exit__(*error)


def ids_of(context: SpanContext) -> dict[str, str]:
    """Returns the trace id and span id in the form of log lines; empty without a trace."""
    if not context.is_valid:
        return {}
    return {"trace_id": f"{context.trace_id:032x}", "span_id": f"{context.span_id:016x}"}


def identity(caller: Caller) -> dict[str, str]:
    """Returns the span attributes that name the caller."""
    found = {"posthaste.request_id": caller.request_id}
    if caller.account_id:
        found["posthaste.account"] = account_hash(caller.account_id)
    if caller.operation_id:
        found["posthaste.operation_id"] = caller.operation_id
    return found


def error_type(error: BaseException) -> str:
    return error.code if isinstance(error, ApiError) else type(error).__name__


def end(span: Span, error: BaseException | None) -> None:
    """Ends a span. Marks it as failed if the error is our fault; an ApiError below 500 is a normal answer."""
    if error is not None and span.is_recording():
        span.set_attribute("error.type", error_type(error))
        if not isinstance(error, ApiError) or error.row.http_status >= 500:
            span.set_status(_FAILED)
    span.end()


class Spans:
    """Does the work of the hooks in `tracing` while tracing is on. One per process."""

    def __init__(self, tracer: Tracer, *, follows: bool) -> None:
        """`follows`: whether the tracer's sampler records a span exactly if its parent is recorded."""
        self._tracer, self._follows = tracer, follows

    def traceparent(self) -> str:
        return traceparent_of(_current.get())

    def add_ids(self, event: Any) -> Any:
        event.update(ids_of(_current.get().get_span_context()))
        return event

    def request(self, method: str, route: str, cause: str, request_id: str) -> Traced:
        attributes = {"http.request.method": method, "http.route": route}
        parent = parse(cause) if cause else None  # a client's header: only what is well-formed is passed on
        span = self._begin(
            f"{method} {route}",
            SpanKind.SERVER,
            written(parent) if parent else "",
            {**attributes, "posthaste.service": "gateway", "posthaste.request_id": request_id},
        )
        return Traced(span, metrics.HTTP_DURATION, attributes)

    def calling(self, service: str, method: str) -> tuple[Span | None, str]:
        parent = _current.get()
        if isinstance(parent, NotRecorded):
            return None, parent.traceparent
        about = {"rpc.system.name": "posthaste", "rpc.service": service, "rpc.method": method}
        span = self._start(f"{service}/{method}", SpanKind.CLIENT, parent, about)
        return span, traceparent_of(span)

    def called(self, span: Span, error: BaseException | None) -> None:
        end(span, error)

    def on_behalf(self, causes: Sequence[str]) -> Traced:
        sampled = [cause for cause in causes if cause.endswith("-01")]
        if len(sampled) > 1:
            about = {"posthaste.count": len(causes)}
            return Traced(self._begin("together", SpanKind.INTERNAL, sampled[0], about, sampled))
        return Traced(_remote(next(iter(sampled or causes), "")))

    def serving(self, service: str, method: str, caller: Caller, cause: str) -> Traced:
        named = {"rpc.service": service, "rpc.method": method}
        if self._follows and cause.endswith("-00"):  # saves the attributes
            return TaskTraced(NotRecorded(cause), metrics.RPC_DURATION, named)
        attributes = {
            **named,
            "rpc.system.name": "posthaste",
            "posthaste.service": service,
            **identity(caller),
        }
        span = self._begin(f"{service}/{method}", SpanKind.SERVER, cause, attributes)
        return TaskTraced(span, metrics.RPC_DURATION, named)

    def in_database(self, name: str, kind: str) -> Any:
        current = _current.get()
        if not current.is_recording():
            return _UNCHANGED
        about = {"db.system.name": "postgresql", "db.namespace": name, "db.operation.name": kind}
        return DatabaseTraced(self._start(f"{kind} {name}", SpanKind.CLIENT, current, about))

    def sending(self, event: str, cause: str, staged_at: datetime) -> str:
        """Returns the traceparent for the receivers of an event. If the trace is recorded, also records a span for the
        time that the event waited in the outbox.
        """
        if not cause.endswith("-01"):
            return cause
        attributes = {"messaging.system": "rabbitmq", "messaging.destination.name": event}
        began_ns = int(staged_at.timestamp() * 1e9)
        span = self._begin(f"send {event}", SpanKind.PRODUCER, cause, attributes, began_ns=began_ns)
        span.end()
        return traceparent_of(span)

    def handling(self, service: str, events: Sequence[Event], causes: Sequence[str]) -> EventsTraced:
        found = [cause for cause in causes if cause]
        names = {one.event for one in events}
        name = names.pop() if len(names) == 1 else "events"
        cause = next((one for one in found if one.endswith("-01")), found[0] if found else "")
        attributes = {"messaging.system": "rabbitmq", "messaging.destination.name": name}
        span = self._begin(
            f"handle {name}",
            SpanKind.CONSUMER,
            cause,
            {**attributes, "posthaste.service": service, "messaging.batch.message_count": len(events)},
            found,
        )
        by_id = {one.id: cause for one, cause in zip(events, causes, strict=False)}
        if len(by_id) == 1:
            by_id = dict.fromkeys(by_id, traceparent_of(span))
        return EventsTraced(span, by_id, {"posthaste.service": service, "messaging.destination.name": name})

    def cause_of(self, event_id: str) -> str | None:
        return _causes.get({}).get(event_id) or None

    def working(
        self, name: str, cause: str, service: str, account_id: str, attributes: Mapping[str, Any]
    ) -> Traced:
        about = {
            "posthaste.service": service,
            **{f"posthaste.{key}": value for key, value in attributes.items()},
        }
        if account_id:
            about["posthaste.account"] = account_hash(account_id)
        return Traced(self._begin(name, SpanKind.CONSUMER, cause, about, [cause]))

    def outbound(self, method: str, host: str, *, counts: bool) -> Traced:
        named = {"http.request.method": method, "server.address": site_of(host)}
        span = _current.get()
        if span.is_recording():
            about = {**named, "server.address": host}
            span = self._start(f"{method} {host}", SpanKind.CLIENT, span, about)
        return Traced(span, metrics.OUTBOUND_DURATION if counts else None, named)

    def _begin(
        self,
        name: str,
        kind: SpanKind,
        cause: str,
        attributes: Mapping[str, Any],
        links: Sequence[str] = (),
        began_ns: int | None = None,
    ) -> Span:
        """Begins a span whose parent is `cause`, a traceparent or "". `links` are traceparents of further causes."""
        if self._follows and cause.endswith("-00"):
            return NotRecorded(cause)
        span = self._start(name, kind, _remote(cause), attributes, links, began_ns)
        return span if span.is_recording() else NotRecorded(traceparent_of(span))

    def _start(
        self,
        name: str,
        kind: SpanKind,
        parent: Span,
        attributes: Mapping[str, Any],
        links: Sequence[str] = (),
        began_ns: int | None = None,
    ) -> Span:
        contexts = [context for context in map(parse, links) if context is not None]
        return self._tracer.start_span(
            name,
            set_span_in_context(parent, _ROOT),
            kind,
            attributes,
            [Link(context) for context in contexts[:_MAX_LINKS]],
            began_ns,
        )


def _remote(traceparent: str) -> Span:
    """Turns another process's traceparent into a span. If the traceparent is empty or malformed, or says that its trace
    is not recorded, returns a `NotRecorded`."""
    context = parse(traceparent) if traceparent.endswith("-01") else None
    return NonRecordingSpan(context) if context else NotRecorded(traceparent)


class _Unchanged:
    """A context manager that does nothing, for work that is not recorded."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_error: object) -> None:
        return None


_UNCHANGED = _Unchanged()
