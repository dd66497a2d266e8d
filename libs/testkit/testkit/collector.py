"""An OpenTelemetry collector for tests and benchmarks: receives OTLP over HTTP and keeps all spans and metrics."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

KINDS = {kind: name.removeprefix("SPAN_KIND_").lower() for name, kind in Span.SpanKind.items()}


@dataclass(frozen=True)
class Seen:
    """A received span. Ids are in hex; `links` are pairs of trace id and span id. `has_failed`: its status is ERROR."""

    service: str
    name: str
    kind: str
    trace_id: str
    span_id: str
    parent_id: str
    links: tuple[tuple[str, str], ...]
    attributes: dict[str, Any] = field(hash=False)
    has_failed: bool = False


@dataclass(frozen=True)
class Point:
    """The newest value that a process has sent for a metric and one set of attributes. The value of a histogram is its
    count.
    """

    value: float
    attributes: dict[str, Any]


class Collector:
    """A running OTLP server that keeps the spans and metrics it receives. Use it in a `with` statement.

    A test can set `status`, the HTTP status of the next answers. While it is not 200, spans and metrics are not kept.
    """

    def __init__(self) -> None:
        self.status = 200
        self._lock = threading.Lock()
        self._spans: list[Seen] = []
        self._points: dict[str, dict[tuple[Any, ...], Point]] = {}
        self._units: dict[str, tuple[str, str]] = {}
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.collector = self
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    def __enter__(self) -> "Collector":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def spans(self, **fields: Any) -> list[Seen]:
        """Returns the received spans whose fields (those of `Seen`) have these values, oldest first."""
        with self._lock:
            return [
                s for s in self._spans if all(getattr(s, name) == value for name, value in fields.items())
            ]

    def points(self, name: str) -> list[Point]:
        """Returns the newest values of a metric, one for each process and set of attributes. `name` is the metric's
        name in OTLP."""
        with self._lock:
            return list(self._points.get(name, {}).values())

    def metrics(self) -> dict[str, tuple[str, str]]:
        """Returns metric name → (kind, unit) of every received metric; the kind is gauge, sum or histogram."""
        with self._lock:
            return dict(self._units)

    def wait_for(self, look: Callable[[], Any], seconds: float = 30.0) -> Any:
        """Calls `look` until it returns a true value, and returns that value. Fails the test after `seconds`."""
        end = time.monotonic() + seconds
        while not (found := look()):
            if time.monotonic() > end:
                received = "\n".join(
                    f"{s.service}: {s.name} {s.trace_id[:6]} {s.span_id} < {s.parent_id}"
                    for s in self.spans()
                )
                raise AssertionError(f"not within {seconds} s; received:\n{received}")
            time.sleep(0.05)
        return found

    def take(self, path: str, body: bytes) -> None:
        if path == "/v1/traces":
            self._take_spans(ExportTraceServiceRequest.FromString(body))
        elif path == "/v1/metrics":
            self._take_metrics(ExportMetricsServiceRequest.FromString(body))

    def _take_spans(self, request: ExportTraceServiceRequest) -> None:
        for resource in request.resource_spans:
            service = _attributes(resource.resource.attributes)["service.name"]
            spans = [_seen(service, span) for scope in resource.scope_spans for span in scope.spans]
            with self._lock:
                self._spans += spans

    def _take_metrics(self, request: ExportMetricsServiceRequest) -> None:
        for resource in request.resource_metrics:
            about = _attributes(resource.resource.attributes)
            for metric in (m for scope in resource.scope_metrics for m in scope.metrics):
                kind = str(metric.WhichOneof("data"))
                with self._lock:
                    self._units[metric.name] = (kind, metric.unit)
                    for point in _points(metric, kind):
                        key = (about["service.instance.id"], *sorted(point.attributes.items()))
                        self._points.setdefault(metric.name, {})[key] = point


def _seen(service: str, span: Span) -> Seen:
    return Seen(
        service=service,
        name=span.name,
        kind=KINDS[span.kind],
        trace_id=span.trace_id.hex(),
        span_id=span.span_id.hex(),
        parent_id=span.parent_span_id.hex(),
        links=tuple((link.trace_id.hex(), link.span_id.hex()) for link in span.links),
        attributes=_attributes(span.attributes),
        has_failed=span.status.code == Status.STATUS_CODE_ERROR,
    )


def _points(metric: Metric, kind: str) -> list[Point]:
    found: list[Point] = []
    for point in getattr(metric, kind).data_points:
        value = point.count if kind == "histogram" else getattr(point, point.WhichOneof("value"))
        found.append(Point(float(value), _attributes(point.attributes)))
    return found


def _attributes(pairs: "list[KeyValue] | Any") -> dict[str, Any]:
    return {pair.key: getattr(pair.value, str(pair.value.WhichOneof("value"))) for pair in pairs}


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    collector: Collector


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        status = self.server.collector.status
        if status == 200:
            self.server.collector.take(self.path, body)
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Logs nothing."""
