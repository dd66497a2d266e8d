"""What the service measures of its own work. Names and labels: docs/observability.md."""

from chassis.telemetry.metrics import Counter

#: Counted where they are written: a transaction that fails after that counts too. What is owed is in the ledger.
SPENT = Counter("posthaste.credits.spent", "{credit}", "Credits charged, by action.")
REFUNDED = Counter("posthaste.credits.refunded", "{credit}", "Credits given back, by action.")
