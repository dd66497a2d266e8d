"""The rule of admission: decides by the counters of an account or sandbox token whether a request or unit is within the
limits (pure).

A batch of demands (requests or units) gets the same decisions as if they came one after another. A refused demand
changes nothing.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime

import msgspec

from contracts import errors, plans
from contracts.caller import Caller
from contracts.errors import ErrorRow
from contracts.quota import RateWindow
from contracts.record import Record
from quota import windows
from quota.charges import UnitCharge


class Limits(Record):
    """The most requests or units of one account or sandbox token per minute, day and month, and in total."""

    per_minute: int
    per_day: int
    #: By month bucket; a missing bucket is counted without a limit.
    monthly: dict[str, int] = msgspec.field(default_factory=dict)
    #: Total requests of a sandbox token; None for accounts.
    lifetime: int | None = None


SANDBOX_LIMITS = Limits(
    per_minute=plans.SANDBOX_PER_MINUTE,
    per_day=plans.SANDBOX_PER_DAY,
    lifetime=plans.SANDBOX_LIFETIME_REQUESTS,
)
TIER_LIMITS = {
    tier: Limits(
        per_minute=plan.per_minute,
        per_day=plan.per_day,
        monthly={bucket: getattr(plan, bucket) for bucket in plans.BUCKETS},
    )
    for tier, plan in plans.PLANS.items()
}

#: What each meter of a request counts besides its own bucket (decisions "What counts as a publish or reply").
_ALSO_COUNTS: dict[str, tuple[str, ...]] = {
    "": (),
    "reads": ("total",),
    "writes": ("total",),
    "publishes": ("writes", "total"),
    "replies": ("writes", "total"),
}


class Demand(Record):
    """What one API request uses of the counters, and the limits that apply to it. Work outside a request, such as a
    webhook delivery, takes one unit of the month and has a Demand of its own.
    """

    #: The account or sandbox token whose counters apply.
    subject: str
    limits: Limits
    #: The month bucket it takes a unit from; empty for none.
    bucket: str = ""
    #: False for units taken outside a request: they use neither minute nor day and do not count in `total`.
    is_request: bool = True
    operation_id: str | None = None
    #: The try of the operation.
    try_number: int = 1


class Counters(Record):
    """How much an account or sandbox token (`subject`) has used in its minute, day and month.

    When a window has passed, its counts stay in the row until the next use.
    """

    subject: str
    minute_at: datetime = datetime(1970, 1, 1, tzinfo=UTC)
    minute_count: int = 0
    day: date = date(1970, 1, 1)
    day_count: int = 0
    year_month: str = "1970-01"
    publishes: int = 0
    replies: int = 0
    reads: int = 0
    webhooks: int = 0
    writes: int = 0
    total: int = 0
    #: The month's buckets that were warned about: bit n stands for `plans.BUCKETS[n]`.
    warned: int = 0
    lifetime: int = 0


class Decision(Record):
    """The decision about one demand: allowed, or refused with an error. It also holds the subject's counters and the
    operation's charge as they are after the decision.
    """

    #: The counters after the decision.
    counters: Counters
    now: datetime
    window: RateWindow
    refused: ErrorRow | None = None
    extras: dict[str, object] = msgspec.field(default_factory=dict)
    #: The operation's charge after the decision; None without an operation or a change.
    charge: UnitCharge | None = None
    #: Whether this demand crossed the warning line of its bucket.
    warns: bool = False


def demand_of(caller: Caller, meter: str) -> Demand:
    """Returns what an API request uses of the counters. A sandbox token has its own counters, without a monthly one
    (docs/spec.md, "Authentication" 7).

    Raises ApiError VALIDATION_ERROR for an unknown meter.
    """
    if meter not in _ALSO_COUNTS:
        raise errors.invalid("meter", "is not one of " + ", ".join(filter(None, _ALSO_COUNTS)))
    if caller.sandbox:
        return Demand(subject=caller.token_id, limits=SANDBOX_LIMITS)
    return Demand(
        subject=caller.account_id,
        limits=TIER_LIMITS[caller.tier],
        bucket=meter,
        operation_id=caller.operation_id if meter in ("publishes", "replies") else None,
        try_number=caller.try_number,
    )


def roll(counters: Counters, now: datetime) -> Counters:
    """Returns the counters as they are at `now`: those of a minute, day or month that has passed are zero again."""
    changes: dict[str, object] = {}
    if counters.minute_at != (minute := windows.minute_of(now)):
        changes.update(minute_at=minute, minute_count=0)
    if counters.day != (day := windows.day_of(now)):
        changes.update(day=day, day_count=0)
    if counters.year_month != (year_month := windows.month_of(now)):
        zeroes = dict.fromkeys((*plans.BUCKETS, "writes", "total", "warned"), 0)
        changes.update(year_month=year_month, **zeroes)
    return msgspec.structs.replace(counters, **changes) if changes else counters


def decide(before: Counters, demand: Demand, charge: UnitCharge | None, now: datetime) -> Decision:
    """Decides whether a demand is allowed, and returns the counters afterwards.

    `before`: the counters of the account or sandbox token. `charge`: the unit that the demand's operation holds so far;
    None without an operation.
    """
    counters, limits = roll(before, now), demand.limits
    takes_unit = bool(demand.bucket) and (charge is None or charge.takes_unit(demand.try_number))
    refusal = _refusal(counters, demand, now, takes_unit=takes_unit)
    if refusal:
        row, extras = refusal
        window = _window(counters, limits, now)
        return Decision(counters=before, now=now, window=window, refused=row, extras=extras)

    changes: dict[str, int] = {}
    if demand.bucket:
        changes[demand.bucket] = getattr(counters, demand.bucket) + takes_unit
    if demand.is_request:
        changes["minute_count"] = counters.minute_count + 1
        changes["day_count"] = counters.day_count + 1
        for name in _ALSO_COUNTS[demand.bucket]:
            changes[name] = getattr(counters, name) + 1
        if limits.lifetime is not None:
            changes["lifetime"] = counters.lifetime + 1
    warns = _crosses_warning_line(counters, demand, changes)
    if warns:
        changes["warned"] = counters.warned | _warned_bit(demand.bucket)
    after = msgspec.structs.replace(counters, **changes)
    charged = charge and charge.charged(demand.try_number, demand.bucket, after.year_month)
    return Decision(
        counters=after,
        now=now,
        window=_window(after, limits, now),
        charge=charged if charged != charge else None,
        warns=warns,
    )


def decide_all(
    counters: Mapping[str, Counters],
    demands: Iterable[Demand],
    charges: Mapping[str, UnitCharge],
    now: datetime,
) -> list[Decision]:
    """Decides in order whether these requests may run; each sees the units that the earlier ones used. Returns a
    decision for each.

    `counters`: subject (account or sandbox token) → its counters. `charges`: operation id → the unit that an earlier
    try of the operation was charged.
    """
    counters, charges = dict(counters), dict(charges)
    decisions = []
    for demand in demands:
        decision = decide(counters[demand.subject], demand, _charge_of(demand, charges), now)
        counters[demand.subject] = decision.counters
        if decision.charge is not None:
            charges[decision.charge.operation_id] = decision.charge
        decisions.append(decision)
    return decisions


def _charge_of(demand: Demand, charges: Mapping[str, UnitCharge]) -> UnitCharge | None:
    if demand.operation_id is None:
        return None
    known = charges.get(demand.operation_id)
    return known or UnitCharge(operation_id=demand.operation_id, account_id=demand.subject)


def _refusal(
    counters: Counters, demand: Demand, now: datetime, *, takes_unit: bool
) -> tuple[ErrorRow, dict[str, object]] | None:
    """Returns the error of the first limit that is reached, and the error's further fields. Returns None if no limit is
    reached.

    The limits are checked in this order: in total, per minute, per day, per month (docs/decisions.md, "Sandbox order").
    """
    limits = demand.limits
    if demand.is_request:
        if limits.lifetime is not None and counters.lifetime >= limits.lifetime:
            return errors.SANDBOX_EXHAUSTED, {}
        if counters.minute_count >= limits.per_minute:
            return errors.RATE_LIMITED, _wait(windows.minute_ends_at(now), now)
        if counters.day_count >= limits.per_day:
            return errors.DAILY_LIMIT_EXCEEDED, _wait(windows.day_ends_at(now), now)
    limit = limits.monthly.get(demand.bucket)
    if limit is not None and takes_unit and getattr(counters, demand.bucket) >= limit:
        resets_at = windows.month_ends_at(now)
        extras = {"bucket": demand.bucket, "limit": limit, "resets_at": resets_at, **_wait(resets_at, now)}
        return errors.MONTHLY_QUOTA_EXCEEDED, extras
    return None


def _wait(until: datetime, now: datetime) -> dict[str, object]:
    return {"retry_after_seconds": windows.seconds_until(until, now)}


def _window(counters: Counters, limits: Limits, now: datetime) -> RateWindow:
    remaining = max(0, limits.per_minute - counters.minute_count)
    return RateWindow(limit=limits.per_minute, remaining=remaining, resets_at=windows.minute_ends_at(now))


def _crosses_warning_line(counters: Counters, demand: Demand, changes: Mapping[str, int]) -> bool:
    """Whether this use reaches 80 % of the monthly limit and no warning was sent yet.

    `changes`: the new counts. There is one warning for each bucket and month (docs/spec.md, "Events"), even if units
    are refunded and used again.
    """
    limit = demand.limits.monthly.get(demand.bucket)
    if limit is None or counters.warned & _warned_bit(demand.bucket):
        return False
    return changes[demand.bucket] * 100 >= limit * plans.QUOTA_WARNING_PERCENT


def _warned_bit(bucket: str) -> int:
    return 1 << plans.BUCKETS.index(bucket)
