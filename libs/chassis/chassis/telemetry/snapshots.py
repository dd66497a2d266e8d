"""Converts the recorded metrics to the SDK's records, with cumulative values as in Prometheus."""

import time

from opentelemetry.sdk.metrics import export
from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    MetricsData,
    ResourceMetrics,
    ScopeMetrics,
)
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from chassis.telemetry.metrics import DECLARED, Buckets, Counter, Gauge, Histogram, Instrument, Key

_CUMULATIVE = AggregationTemporality.CUMULATIVE


class Snapshots:
    """Converts metrics for export. One per process. Times are in nanoseconds of Unix time."""

    def __init__(self, resource: Resource) -> None:
        self._resource = resource
        self._began_ns = time.time_ns()

    def take(self) -> MetricsData:
        """Returns the present values of all metrics. Reads the gauges too, which may query the database."""
        found = [self._metric(instrument) for instrument in list(DECLARED.values())]
        metrics = [metric for metric in found if metric.data.data_points]
        scope = ScopeMetrics(InstrumentationScope("posthaste"), metrics, schema_url="")
        return MetricsData([ResourceMetrics(self._resource, [scope], schema_url="")])

    def _metric(self, instrument: Instrument) -> export.Metric:
        return export.Metric(
            instrument.name, instrument.description, instrument.unit, self._data(instrument, time.time_ns())
        )

    def _data(self, instrument: Instrument, now_ns: int) -> export.Sum | export.Histogram | export.Gauge:
        if isinstance(instrument, Histogram):
            points = [
                self._point(key, buckets, instrument.bounds, now_ns)
                for key, buckets in list(instrument.sums.items())
            ]
            return export.Histogram(points, _CUMULATIVE)
        if isinstance(instrument, Counter):
            sums = [
                export.NumberDataPoint(dict(key), self._began_ns, now_ns, total)
                for key, total in list(instrument.sums.items())
            ]
            return export.Sum(sums, _CUMULATIVE, is_monotonic=True)
        assert isinstance(instrument, Gauge)
        readings = instrument.readings()
        return export.Gauge(
            [export.NumberDataPoint(dict(about), self._began_ns, now_ns, value) for value, about in readings]
        )

    def _point(
        self, key: Key, buckets: Buckets, bounds: tuple[float, ...], now_ns: int
    ) -> export.HistogramDataPoint:
        counts = list(buckets.counts)
        return export.HistogramDataPoint(
            attributes=dict(key),
            start_time_unix_nano=self._began_ns,
            time_unix_nano=now_ns,
            count=sum(counts),
            sum=buckets.total,
            bucket_counts=counts,
            explicit_bounds=bounds,
            min=buckets.min,
            max=buckets.max,
        )
