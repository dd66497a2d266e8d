"""Gives an OTLP metric the name that Prometheus has for it. Imports nothing, because a test image copies this file."""

#: The units that we use.
_UNITS = {"s": "seconds", "By": "bytes", "1": "ratio"}


def prometheus_names(metric: str, kind: str, unit: str) -> tuple[str, ...]:
    """Returns the names of the series of an OTLP metric (kind: gauge, sum, histogram), by OpenTelemetry's rules for
    Prometheus.
    """
    base = metric.replace(".", "_")
    if unit in _UNITS and (unit != "1" or kind == "gauge"):
        base = f"{base}_{_UNITS[unit]}"
    if kind == "histogram":
        return tuple(f"{base}_{part}" for part in ("bucket", "count", "sum"))
    return (f"{base}_total" if kind == "sum" else base,)
