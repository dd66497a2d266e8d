"""What the service measures of its own work. Names and labels: docs/observability.md."""

from chassis.telemetry.metrics import Counter

#: Counted when their transaction is over. What is owed is in the ledger.
SPENT = Counter("posthaste.credits.spent", "{credit}", "Credits charged, by action.")
REFUNDED = Counter("posthaste.credits.refunded", "{credit}", "Credits given back, by action.")
