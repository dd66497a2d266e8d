"""Sends spans and metrics by OTLP over HTTP, from one separate thread, real or green.

While the collector is away, the newest `_MAX_WAITING` spans wait; older ones are dropped. If the collector does not
accept a request, the spans in it are dropped too. Dropped spans are counted. The beginning and the end of an outage are
logged.

The SDK's `BatchSpanProcessor` is not used: it does not count the spans that it drops, waits up to 30 s at the end, and
starts its thread in every forked child. With green threads, the child would then run the parent's work.
"""

import _thread
import logging
import os
import socket
import threading
import time
from collections import deque
from collections.abc import Sequence
from typing import Any

import structlog
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics.export import MetricExportResult
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SpanExportResult

from chassis.config import TelemetryConfig
from chassis.telemetry import metrics
from chassis.telemetry.sampling import sampler_of
from chassis.telemetry.snapshots import Snapshots

log = structlog.get_logger()

#: Limits of waiting spans and of spans in one request. Encoding a full request takes 3 ms, the longest that a green
#: thread should run; sending it takes half a millisecond, whatever its size.
_MAX_WAITING, _BATCH_SIZE = 2048, 192
#: Seconds between two requests, and after a failed one: traces are visible soon, and a collector that is away costs
#: little.
_INTERVAL_SECONDS, _PAUSE_SECONDS = 1.0, 5.0


class Exporting(SpanProcessor):
    """Exports spans and metrics. One per process."""

    def __init__(self, service: str, config: TelemetryConfig) -> None:
        """Prepares the exporters. Nothing is sent before `start`."""
        logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)  # failures are logged here
        resource = Resource.create(
            {
                "service.namespace": "posthaste",
                "service.instance.id": f"{socket.gethostname()}:{os.getpid()}",
                **config.resource,
                "service.name": config.service_name or service,
            }
        )
        base = config.endpoint.rstrip("/")
        options: dict[str, Any] = {"headers": config.headers, "timeout": config.timeout_seconds}
        self._span_exporter = OTLPSpanExporter(endpoint=f"{base}/v1/traces", **options)
        self._metric_exporter = OTLPMetricExporter(endpoint=f"{base}/v1/metrics", **options)
        self._metric_interval_seconds = config.metric_interval_seconds
        self._snapshots = Snapshots(resource)
        self._waiting: deque[ReadableSpan] = deque()
        self._stopping, self._ended = threading.Event(), threading.Event()
        self._fails = False
        provider = TracerProvider(
            sampler_of(config.sampler, config.sampler_ratio), resource, shutdown_on_exit=False
        )
        provider.add_span_processor(self)
        self.tracer = provider.get_tracer("posthaste")

    def start(self) -> None:
        # Not threading.Thread, because eventlet's green version raises an error when it ends.
        _thread.start_new_thread(self._run, ())

    def stop(self, timeout_seconds: float) -> None:
        """Sends the waiting spans, for at most this long. The rest are lost."""
        self._stopping.set()
        if not self._ended.wait(timeout_seconds):
            self._span_exporter.shutdown()  # type: ignore[no-untyped-call]
            self._metric_exporter.shutdown()

    # -- the thread that ends a span --------------------------------------------------------------------

    def on_end(self, span: ReadableSpan) -> None:
        if len(self._waiting) >= _MAX_WAITING:
            self._waiting.popleft()
            metrics.DROPPED_SPANS.add(1)
        self._waiting.append(span)

    # -- the exporting thread ---------------------------------------------------------------------------

    def _run(self) -> None:
        metrics_due_at = time.monotonic() + self._metric_interval_seconds
        while not self._stopping.wait(_PAUSE_SECONDS if self._fails else _INTERVAL_SECONDS):
            self._send_spans()
            if time.monotonic() >= metrics_due_at:
                metrics_due_at = time.monotonic() + self._metric_interval_seconds
                self._send_metrics()
        if not self._fails:
            self._send_spans()
            self._send_metrics()
        self._ended.set()

    def _send_spans(self) -> None:
        while self._waiting:
            batch = [self._waiting.popleft() for _ in range(min(len(self._waiting), _BATCH_SIZE))]
            if not self._sent(lambda batch=batch: self._export_spans(batch)):
                metrics.DROPPED_SPANS.add(len(batch))
                return
            time.sleep(0)  # lets other green threads run

    def _send_metrics(self) -> None:
        self._sent(self._export_metrics)

    def _export_spans(self, batch: Sequence[ReadableSpan]) -> bool:
        return self._span_exporter.export(batch) is SpanExportResult.SUCCESS

    def _export_metrics(self) -> bool:
        return self._metric_exporter.export(self._snapshots.take()) is MetricExportResult.SUCCESS

    def _sent(self, export: Any) -> bool:
        """Runs an export and returns whether it succeeded. Logs when exports begin to fail and when they work again."""
        try:
            reason, is_good = "refused, or no answer", export()
        except Exception as error:  # noqa: BLE001 - whatever it is, the next attempt may go well
            reason, is_good = repr(error), False
        if self._fails == is_good:
            self._fails = not is_good
            if is_good:
                log.info("telemetry_is_sent_again")
            else:
                log.warning("telemetry_not_sent", reason=reason)
        return bool(is_good)
