"""The metrics of the quota service. Names and labels: docs/observability.md."""

from chassis.telemetry.metrics import Counter
from quota.decision import Decision

REFUSALS = Counter(
    "posthaste.quota.refusals", "{request}", "Refused requests and units, by error code and bucket."
)


def note(decision: Decision) -> None:
    if decision.refused is not None:
        bucket = str(decision.extras.get("bucket", "none"))
        REFUSALS.add(1, {"code": decision.refused.code, "bucket": bucket})
