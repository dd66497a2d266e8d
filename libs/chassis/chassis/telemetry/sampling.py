"""Decides which traces are recorded: the SDK's samplers, under OpenTelemetry's names."""

from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON, ParentBased, Sampler, TraceIdRatioBased

from chassis.config import ConfigError


def sampler_of(name: str, ratio: float) -> Sampler:
    """Returns the sampler of this name. Raises ConfigError for an unknown name, or a ratio that is not from 0 to 1.

    With `parentbased_…`, a span that has a parent is recorded if its parent is.
    """
    if not 0.0 <= ratio <= 1.0:
        raise ConfigError(f"OTEL_TRACES_SAMPLER_ARG must be from 0 to 1, not {ratio}")
    by_name = {"always_on": ALWAYS_ON, "always_off": ALWAYS_OFF, "traceidratio": TraceIdRatioBased(ratio)}
    found = by_name.get(name.removeprefix("parentbased_"))
    if found is None:
        raise ConfigError(
            f"OTEL_TRACES_SAMPLER must be one of {', '.join(by_name)}, or parentbased_…, not {name!r}"
        )
    return ParentBased(found) if name.startswith("parentbased_") else found
