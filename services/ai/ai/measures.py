"""What the service measures of its own work. Names and labels: docs/observability.md."""

from chassis.telemetry.metrics import Counter

#: Counted when their transaction is over. What is owed is in the ledger.
SPENT = Counter("posthaste.credits.spent", "{credit}", "Credits charged, by action.")
CLAWED_BACK = Counter(
    "posthaste.credits.clawback", "{credit}", "Bought credits whose payment went back, by reason."
)
OWED = Counter("posthaste.credits.owed", "{credit}", "Those of them that were spent already, by reason.")
REFUNDED = Counter("posthaste.credits.refunded", "{credit}", "Credits given back, by action.")
