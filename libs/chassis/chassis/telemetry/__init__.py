"""Traces and metrics: the hooks that all packages call, and the switch that enables them.

`tracing` and `metrics` are the hooks. While telemetry is off they cost one branch, and OpenTelemetry is not imported.
`spans` and `exporting` do the work when it is on. docs/observability.md lists what is measured.
"""

from typing import TYPE_CHECKING

from chassis.config import TelemetryConfig
from chassis.telemetry import metrics, tracing

if TYPE_CHECKING:
    from chassis.telemetry.exporting import Exporting

_running: "Exporting | None" = None


def start(service: str, config: TelemetryConfig) -> None:
    """Starts recording, and exporting in a separate thread, if an endpoint is set. Call it after any fork.

    Raises ConfigError for an invalid sampler.
    """
    global _running
    if not config.endpoint or _running is not None:
        return
    from chassis.telemetry.exporting import Exporting  # takes 20 MB, only needed for exporting
    from chassis.telemetry.spans import Spans

    _running = Exporting(service, config)
    tracing.switch_on(Spans(_running.tracer, follows=config.sampler.startswith("parentbased_")))
    metrics.switch_on()
    _running.start()


def stop(timeout_seconds: float = 2.0) -> None:
    """Stops recording, and sends the waiting spans within this time."""
    global _running
    if _running is not None:
        tracing.switch_off()
        _running.stop(timeout_seconds)
        metrics.switch_off()
        _running = None
