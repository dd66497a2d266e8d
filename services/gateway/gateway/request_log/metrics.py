"""The metric of the request log. Name and unit: docs/observability.md."""

from chassis.telemetry.metrics import Counter

UNLOGGED = Counter(
    "posthaste.requests.unlogged",
    "{request}",
    "Requests that are missing from the request log, because its database was away for too long.",
)
