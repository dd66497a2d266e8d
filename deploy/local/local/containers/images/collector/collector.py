"""A telemetry collector with the features that Prometheus needs: receives metrics by OTLP on port 4318, and shows the
newest values on port 8889.

The metrics have the names that the real collector gives them for Prometheus. Traces are accepted and dropped. The
values of a process that has sent nothing for METRIC_EXPIRATION_SECONDS are dropped.
"""

import os
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

sys.path.insert(0, os.path.dirname(__file__))
from prometheus_names import prometheus_names

EXPIRATION_SECONDS = float(os.environ.get("METRIC_EXPIRATION_SECONDS", "120"))
#: Series with its labels → value, and when it came.
values: dict[str, tuple[float, float]] = {}
lock = threading.Lock()


def take(body: bytes) -> None:
    for resource in ExportMetricsServiceRequest.FromString(body).resource_metrics:
        about = attributes(resource.resource.attributes)
        process = {"job": f"posthaste/{about['service.name']}", "instance": about["service.instance.id"]}
        for metric in (metric for scope in resource.scope_metrics for metric in scope.metrics):
            kind = str(metric.WhichOneof("data"))
            names = prometheus_names(metric.name, kind, metric.unit)
            for point in getattr(metric, kind).data_points:
                labels = attributes(point.attributes) | process
                found = (
                    histogram(names, labels, point) if kind == "histogram" else number(names, labels, point)
                )
                with lock:
                    values.update({series: (value, time.monotonic()) for series, value in found.items()})


def number(names: tuple[str, ...], labels: dict[str, Any], point: Any) -> dict[str, float]:
    return {series_of(names[0], labels): getattr(point, point.WhichOneof("value"))}


def histogram(names: tuple[str, ...], labels: dict[str, Any], point: Any) -> dict[str, float]:
    bucket, count, total = names
    found, seen = {series_of(count, labels): point.count, series_of(total, labels): point.sum}, 0
    for bound, more in zip((*point.explicit_bounds, "+Inf"), point.bucket_counts, strict=True):
        seen += more
        found[series_of(bucket, {**labels, "le": bound})] = seen
    return found


def series_of(name: str, labels: dict[str, Any]) -> str:
    shown = ",".join(f'{key.replace(".", "_")}="{value}"' for key, value in sorted(labels.items()))
    return f"{name}{{{shown}}}"


def attributes(pairs: Any) -> dict[str, Any]:
    return {pair.key: getattr(pair.value, str(pair.value.WhichOneof("value"))) for pair in pairs}


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/v1/metrics":
            take(body)
        self.answer(b"")

    def do_GET(self) -> None:
        since = time.monotonic() - EXPIRATION_SECONDS
        with lock:
            for series in [series for series, (_, at) in values.items() if at < since]:
                del values[series]
            lines = sorted(f"{series} {value}\n" for series, (value, _) in values.items())
        self.answer("".join(lines).encode())

    def answer(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Does nothing, so that requests are not logged."""


if __name__ == "__main__":
    shown = ThreadingHTTPServer(("", 8889), Handler)
    threading.Thread(target=shown.serve_forever, daemon=True).start()
    ThreadingHTTPServer(("", 4318), Handler).serve_forever()
