"""Traces and metrics: what the hooks all over the house call, and the switch that makes them do something.

`tracing` and `metrics` are the hooks: nothing but a branch while telemetry is off, and OpenTelemetry is not imported.
`spans` and `exporting` are what stands behind them once it is on. What is measured where: docs/observability.md.
"""

from typing import TYPE_CHECKING

from chassis.config import TelemetryConfig
from chassis.telemetry import metrics, tracing

if TYPE_CHECKING:
    from chassis.telemetry.exporting import Exporting

_running: "Exporting | None" = None


def start(service: str, config: TelemetryConfig) -> None:
    """Begins to record and to export, in a thread of its own; nothing without an endpoint. After any fork."""
    global _running
    if not config.endpoint or _running is not None:
        return
    from chassis.telemetry.exporting import Exporting  # takes 20 MB: only who exports pays for it
    from chassis.telemetry.recording import Sampling
    from chassis.telemetry.spans import Spans

    sampling = Sampling(config.sampler, config.sampler_ratio)
    _running = Exporting(service, config)
    tracing.switch_on(Spans(_running.keep, sampling))
    metrics.switch_on()
    _running.start()


def stop(timeout_seconds: float = 2.0) -> None:
    """Sends what waits, as far as that goes in this time, and records no more."""
    global _running
    if _running is not None:
        tracing.switch_off()
        _running.stop(timeout_seconds)
        metrics.switch_off()
        _running = None
