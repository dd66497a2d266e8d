"""Spans while they last, and sampling.

As with metrics, spans are recorded in our own objects and exported as the SDK's records: the SDK's spans take 17 µs
each to begin and end, these 4. A span may begin and end in different threads, but is not thread-safe.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from random import getrandbits
from typing import Any

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags

from chassis.config import ConfigError

_SCOPE = InstrumentationScope("posthaste")
_SAMPLED = TraceFlags(TraceFlags.SAMPLED)
_UNSET, _FAILED = Status(StatusCode.UNSET), Status(StatusCode.ERROR)
#: OpenTelemetry's "traceidratio" compares the lower 64 bits of the trace id.
_LOW = 2**64


class Sampling:
    """Which traces are recorded, with OpenTelemetry's names of samplers."""

    def __init__(self, name: str, ratio: float) -> None:
        """`parentbased_…`: a span with a parent follows the parent's decision. Raises ConfigError."""
        by_name = {"always_on": 1.0, "always_off": 0.0, "traceidratio": ratio}
        found = by_name.get(name.removeprefix("parentbased_"))
        if found is None:
            raise ConfigError(
                f"OTEL_TRACES_SAMPLER must be one of {', '.join(by_name)}, or parentbased_…, not {name!r}"
            )
        if not 0.0 <= ratio <= 1.0:
            raise ConfigError(f"OTEL_TRACES_SAMPLER_ARG must be from 0 to 1, not {ratio}")
        self.follows = name.startswith("parentbased_")
        self._bound = round(found * _LOW)

    def keeps(self, trace_id: int, cause: SpanContext | None) -> bool:
        if cause is not None and self.follows:
            return cause.trace_flags.sampled
        return trace_id % _LOW < self._bound


class Recorded:
    """A recorded span. Attributes are texts and numbers."""

    # fmt: off
    __slots__ = (
        "_attributes", "_began_ns", "_context", "_ended_ns", "_keep", "_kind", "_links", "_name", "_parent", "_status",
    )
    # fmt: on

    def __init__(
        self,
        keep: Callable[["Recorded"], None],
        name: str,
        kind: SpanKind,
        trace_id: int,
        parent: SpanContext | None,
        attributes: Mapping[str, Any],
        causes: Sequence[SpanContext] = (),
        began_ns: int | None = None,
    ) -> None:
        """`keep` is called with the span at its end."""
        self._keep = keep
        self._name = name
        self._kind = kind
        self._context = SpanContext(trace_id, new_id(64), is_remote=False, trace_flags=_SAMPLED)
        self._parent = parent
        self._attributes = dict(attributes)
        self._links = [Link(cause) for cause in causes]
        self._status = _UNSET
        self._began_ns = began_ns or time.time_ns()
        self._ended_ns = 0

    def get_span_context(self) -> SpanContext:
        return self._context

    def set_attribute(self, name: str, value: str | int) -> None:
        self._attributes[name] = value

    def set_attributes(self, attributes: Mapping[str, str | int]) -> None:
        self._attributes.update(attributes)

    def fail(self) -> None:
        """Marks the span as failed."""
        self._status = _FAILED

    def end(self) -> None:
        """Ends the span. No change may follow."""
        self._ended_ns = time.time_ns()
        self._keep(self)

    def record(self, resource: Resource) -> ReadableSpan:
        """Returns the ended span as the exporter's record."""
        return ReadableSpan(
            self._name,
            self._context,
            self._parent,
            resource,
            self._attributes,
            links=self._links,
            kind=self._kind,
            status=self._status,
            start_time=self._began_ns,
            end_time=self._ended_ns,
            instrumentation_scope=_SCOPE,
        )


def new_id(bits: int) -> int:
    """Returns a random id, never 0, which means none."""
    return getrandbits(bits) or 1
