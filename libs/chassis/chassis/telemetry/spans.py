"""Spans, once tracing is on. Only `tracing` calls this.

Of an address its host, of an error its code: no URL, statement, token or text of anybody's ever becomes an attribute.
An account is a hash: the first 16 hex digits of SHA-256 of its id.
"""

import hashlib
import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar, Token
from datetime import datetime
from types import TracebackType
from typing import Any

import structlog
from opentelemetry.trace import INVALID_SPAN_CONTEXT, NonRecordingSpan, SpanContext, SpanKind, TraceFlags

from chassis.telemetry import metrics
from chassis.telemetry.recording import Recorded, Sampling, new_id
from contracts.caller import Caller
from contracts.errors import ApiError
from contracts.events import Event

_TRACEPARENT = re.compile(r"(?!ff)([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?", re.ASCII)
_causes: ContextVar[Mapping[str, str]] = ContextVar("causes")


def parse(traceparent: str) -> SpanContext | None:
    """W3C Trace Context, level 1; later versions as far as they begin alike. None for anything else."""
    match = _TRACEPARENT.fullmatch(traceparent)
    if match is None or (match[1] == "00" and match[5]):
        return None
    found = SpanContext(
        int(match[2], 16), int(match[3], 16), is_remote=True, trace_flags=TraceFlags(int(match[4], 16))
    )
    return found if found.is_valid else None


def written(context: SpanContext) -> str:
    if not context.is_valid:
        return ""
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags & 1:02x}"


class Unrecorded:
    """Something that is not recorded: nothing but the traceparent to hand on. Nine in ten are this."""

    __slots__ = ("traceparent",)

    def __init__(self, traceparent: str) -> None:
        self.traceparent = traceparent

    def get_span_context(self) -> SpanContext:
        return parse(self.traceparent) or INVALID_SPAN_CONTEXT

    def end(self) -> None:
        """Nothing."""


#: What goes on: here and recorded, not recorded, or elsewhere and recorded there.
Span = Recorded | Unrecorded | NonRecordingSpan
#: What goes on here. Not OpenTelemetry's own context: that can hold more, and costs as much as the span.
_current: ContextVar[Span] = ContextVar("span", default=Unrecorded(""))  # noqa: B039 - never changed


def handed_on(span: Span) -> str:
    """The traceparent of what it causes."""
    return span.traceparent if isinstance(span, Unrecorded) else written(span.get_span_context())


def account_hash(account_id: str) -> str:
    return hashlib.sha256(account_id.encode()).hexdigest()[:16]


def site_of(host: str) -> str:
    """The last two labels of a host's name: what platforms spread files over stays few."""
    is_address = ":" in host or host.rpartition(".")[2].isdigit()
    return host if is_address else ".".join(host.split(".")[-2:])


class Doing:
    """Something that is going on here: current while the block runs, and measured at its end if there is a measure."""

    __slots__ = ("_attributes", "_began", "_measure", "_token", "span")

    def __init__(
        self,
        span: Span,
        measure: metrics.Histogram | None = None,
        attributes: dict[str, Any] | None = None,
    ) -> None:
        self.span = span
        self._measure = measure
        self._attributes = attributes or {}

    def __enter__(self) -> Any:
        self._token = _current.set(self.span)
        self._began = time.perf_counter()
        return self

    def __exit__(
        self, _type: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if self._measure is not None:
            if error is not None:
                self._attributes["error.type"] = error_type(error)
            self._measure.record(time.perf_counter() - self._began, self._attributes)
        _current.reset(self._token)
        if isinstance(self.span, Recorded):
            if error is not None:
                note_error(self.span, error)
            self.span.end()

    def answered(self, status: int, caller: Caller) -> None:
        """An HTTP request has its answer: what is known now of who asked."""
        self._attributes["http.response.status_code"] = status
        if status >= 500:
            self._attributes["error.type"] = str(status)
        if isinstance(self.span, Recorded):
            self.span.set_attributes({"http.response.status_code": status, **identity(caller)})
            if status >= 500:
                self.span.fail()

    def got(self, status: int) -> None:
        """The outside world has answered."""
        self._attributes["http.response.status_code"] = status
        if isinstance(self.span, Recorded):
            self.span.set_attribute("http.response.status_code", status)
            if status >= 400:
                self.span.fail()


class Aside:
    """A span that nothing goes on from: what a transaction writes is caused by the work around it."""

    __slots__ = ("_span",)

    def __init__(self, span: Recorded) -> None:
        self._span = span

    def __enter__(self) -> None:
        return None

    def __exit__(self, _type: Any, error: BaseException | None, _trace: Any) -> None:
        if error is not None:
            note_error(self._span, error)
        self._span.end()


class Working(Doing):
    """What a green thread of its own does: what is logged of its failure afterwards still names its trace."""

    __slots__ = ()

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        if error[1] is not None:
            structlog.contextvars.bind_contextvars(**ids_of(self.span.get_span_context()))


class Handling(Working):
    """The effect of events; `cause_of` finds their causes meanwhile."""

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
    """As they stand in a line of the log."""
    if not context.is_valid:
        return {}
    return {"trace_id": f"{context.trace_id:032x}", "span_id": f"{context.span_id:016x}"}


def identity(caller: Caller) -> dict[str, str]:
    """Who asks, on a span."""
    found = {"posthaste.request_id": caller.request_id}
    if caller.account_id:
        found["posthaste.account"] = account_hash(caller.account_id)
    if caller.operation_id:
        found["posthaste.operation_id"] = caller.operation_id
    return found


def error_type(error: BaseException) -> str:
    return error.code if isinstance(error, ApiError) else type(error).__name__


def note_error(span: Recorded, error: BaseException) -> None:
    """A refusal is an answer; only what is our own fault is an error."""
    span.set_attribute("error.type", error_type(error))
    if not isinstance(error, ApiError) or error.row.http_status >= 500:
        span.fail()


class Spans:
    """One per process."""

    def __init__(self, keep: Callable[[Recorded], None], sampling: Sampling) -> None:
        """`keep` is given each span that is recorded, at its end."""
        self._keep = keep
        self._sampling = sampling

    def traceparent(self) -> str:
        return handed_on(_current.get())

    def add_ids(self, event: Any) -> Any:
        event.update(ids_of(_current.get().get_span_context()))
        return event

    def request(self, method: str, route: str, cause: str, request_id: str) -> Doing:
        attributes = {"http.request.method": method, "http.route": route}
        span = self._begin(
            f"{method} {route}",
            SpanKind.SERVER,
            parse(cause) if cause else None,
            {**attributes, "posthaste.service": "gateway", "posthaste.request_id": request_id},
        )
        return Doing(span, metrics.HTTP_DURATION, attributes)

    def calling(self, service: str, method: str) -> tuple[Recorded | None, str]:
        current = _current.get()
        if isinstance(current, Unrecorded):
            return None, current.traceparent
        parent = current.get_span_context()
        if not parent.trace_flags.sampled:
            return None, written(parent)
        about = {"rpc.system.name": "posthaste", "rpc.service": service, "rpc.method": method}
        span = self._within(parent, f"{service}/{method}", SpanKind.CLIENT, about)
        return span, written(span.get_span_context())

    def called(self, span: Recorded, error: BaseException | None) -> None:
        if error is not None:
            note_error(span, error)
        span.end()

    def on_behalf(self, causes: Sequence[str]) -> Doing:
        found = [parse(cause) for cause in causes if cause.endswith("-01")]
        sampled = [context for context in found if context is not None]
        if len(sampled) > 1:
            about = {"posthaste.count": len(causes)}
            return Doing(self._begin("together", SpanKind.INTERNAL, sampled[0], about, sampled[:128]))
        return Doing(NonRecordingSpan(sampled[0]) if sampled else Unrecorded(causes[0] if causes else ""))

    def serving(self, service: str, method: str, caller: Caller, cause: str) -> Doing:
        named = {"rpc.service": service, "rpc.method": method}
        if self._sampling.follows and cause.endswith("-00"):
            return Working(Unrecorded(cause), metrics.RPC_DURATION, named)
        parent = parse(cause) if cause else None
        attributes = {
            **named,
            "rpc.system.name": "posthaste",
            "posthaste.service": service,
            **identity(caller),
        }
        span = self._begin(f"{service}/{method}", SpanKind.SERVER, parent, attributes)
        return Working(span, metrics.RPC_DURATION, named)

    def in_database(self, name: str, kind: str) -> Any:
        current = _current.get()
        if not isinstance(current, Recorded):
            return _UNRECORDED
        about = {"db.system.name": "postgresql", "db.namespace": name, "db.operation.name": kind}
        return Aside(self._within(current.get_span_context(), f"{kind} {name}", SpanKind.CLIENT, about))

    def sending(self, event: str, cause: str, staged_at: datetime) -> str:
        """A span as long as the event has waited in the outbox; the traceparent its receivers go on with."""
        parent = parse(cause)
        if parent is None or not parent.trace_flags.sampled:
            return cause
        attributes = {"messaging.system": "rabbitmq", "messaging.destination.name": event}
        began_ns = int(staged_at.timestamp() * 1e9)
        span = self._begin(f"send {event}", SpanKind.PRODUCER, parent, attributes, began_ns=began_ns)
        span.end()
        return handed_on(span)

    def handling(self, service: str, events: Sequence[Event], causes: Sequence[str]) -> Handling:
        found = [context for context in map(parse, causes) if context is not None]
        names = {one.event for one in events}
        name = names.pop() if len(names) == 1 else "events"
        parent = next((one for one in found if one.trace_flags.sampled), found[0] if found else None)
        attributes = {"messaging.system": "rabbitmq", "messaging.destination.name": name}
        span = self._begin(
            f"handle {name}",
            SpanKind.CONSUMER,
            parent,
            {**attributes, "posthaste.service": service, "messaging.batch.message_count": len(events)},
            found[:128],
        )
        by_id = {one.id: cause for one, cause in zip(events, causes, strict=False)}
        if len(by_id) == 1:
            by_id = dict.fromkeys(by_id, handed_on(span))
        return Handling(span, by_id, {"posthaste.service": service, "messaging.destination.name": name})

    def cause_of(self, event_id: str) -> str | None:
        return _causes.get({}).get(event_id) or None

    def working(
        self, name: str, cause: str, service: str, account_id: str, attributes: Mapping[str, Any]
    ) -> Doing:
        parent = parse(cause) if cause else None
        about = {
            "posthaste.service": service,
            **{f"posthaste.{key}": value for key, value in attributes.items()},
        }
        if account_id:
            about["posthaste.account"] = account_hash(account_id)
        return Doing(self._begin(name, SpanKind.CONSUMER, parent, about, [parent] if parent else []))

    def outbound(self, method: str, host: str, *, counts: bool) -> Doing:
        named = {"http.request.method": method, "server.address": site_of(host)}
        span = _current.get()
        if isinstance(span, Recorded):
            about = {**named, "server.address": host}
            span = self._within(span.get_span_context(), f"{method} {host}", SpanKind.CLIENT, about)
        return Doing(span, metrics.OUTBOUND_DURATION if counts else None, named)

    def _within(self, parent: SpanContext, name: str, kind: SpanKind, about: Mapping[str, Any]) -> Recorded:
        """A part of what is recorded."""
        return Recorded(self._keep, name, kind, parent.trace_id, parent, about)

    def _begin(
        self,
        name: str,
        kind: SpanKind,
        parent: SpanContext | None,
        attributes: Mapping[str, Any],
        causes: Sequence[SpanContext] = (),
        began_ns: int | None = None,
    ) -> Recorded | Unrecorded:
        trace_id = new_id(128) if parent is None else parent.trace_id
        if not self._sampling.keeps(trace_id, parent):
            span_id = new_id(64) if parent is None else parent.span_id
            return Unrecorded(f"00-{trace_id:032x}-{span_id:016x}-00")
        return Recorded(self._keep, name, kind, trace_id, parent, attributes, causes, began_ns)


class _Unrecorded:
    """A block that leaves everything as it is."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_error: object) -> None:
        return None


_UNRECORDED = _Unrecorded()
