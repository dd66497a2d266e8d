"""Tiers, their limits and their credit plans as tables.

Sources: docs/spec.md, "Limits", and docs/decisions.md, "Limits and plans".
"""

from typing import Literal

from contracts.record import Record

Tier = Literal["free", "developer", "pro", "elite"]
TIERS: tuple[Tier, ...] = ("free", "developer", "pro", "elite")

MB = 2**20  # decisions: MB is 2^20 bytes


class Plan(Record):
    """The limits of one tier. Counts are per calendar month (UTC) unless the name says otherwise."""

    tier: str
    credit_plan: str
    publishes: int
    replies: int
    reads: int
    webhooks: int
    per_minute: int
    per_day: int
    storage_bytes: int
    max_file_bytes: int
    active_tokens: int
    plan_credits: int


def _plan(
    tier: str, credit_plan: str, monthly: tuple[int, int, int, int], rates: tuple[int, int],
    storage_mb: int, file_mb: int, tokens: int, plan_credits: int,
) -> Plan:  # fmt: skip
    publishes, replies, reads, webhooks = monthly
    return Plan(
        tier=tier, credit_plan=credit_plan, publishes=publishes, replies=replies, reads=reads, webhooks=webhooks,
        per_minute=rates[0], per_day=rates[1], storage_bytes=storage_mb * MB, max_file_bytes=file_mb * MB,
        active_tokens=tokens, plan_credits=plan_credits,
    )  # fmt: skip


#: Spec "Limits"; the daily budget is a tenth of the monthly reads (decisions); credits: spec "AI credits".
PLANS: dict[str, Plan] = {
    "free": _plan("free", "Free", (60, 200, 10_000, 2_000), (10, 1_000), 100, 25, 10, 30),
    "developer": _plan("developer", "Developer", (200, 1_000, 40_000, 15_000), (30, 4_000), 500, 50, 10, 100),
    "pro": _plan("pro", "Advanced", (500, 3_000, 100_000, 50_000), (60, 10_000), 1024, 100, 10, 1_300),
    "elite": _plan(
        "elite", "Elite", (3_000, 20_000, 1_000_000, 500_000), (300, 100_000), 5 * 1024, 250, 25, 2_400
    ),
}

#: Spec "Authentication" 7.
SANDBOX_LIFETIME_REQUESTS = 100
SANDBOX_PER_MINUTE = 5
SANDBOX_PER_DAY = 50

#: Spec "Limits": tokens live at most 2 years.
MAX_TOKEN_LIFETIME_DAYS = 731

#: The monthly buckets with a limit (spec "Events": a warning is sent at 80 percent of these four).
BUCKETS = ("publishes", "replies", "reads", "webhooks")
QUOTA_WARNING_PERCENT = 80
