"""The service's metrics. docs/observability.md lists names and labels."""

from chassis.telemetry.metrics import Counter

#: Counted after the commit. The ledger has the exact sums.
SPENT = Counter("posthaste.credits.spent", "{credit}", "Credits charged, by action.")
CLAWED_BACK = Counter(
    "posthaste.credits.clawback",
    "{credit}",
    "Bought credits taken back after refunds and disputes, by reason.",
)
OWED = Counter(
    "posthaste.credits.owed", "{credit}", "Credits taken back that had been spent and are owed, by reason."
)
REFUNDED = Counter("posthaste.credits.refunded", "{credit}", "Credits refunded, by action.")
