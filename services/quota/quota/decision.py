"""The rule: given the counters of an account or sandbox token, may this demand go on?

Pure: counters, demand and moment in, decision out. What it says of a batch is what it says of its demands
one after the other; a refused demand changes nothing.
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


class Limits(Record):
    """How much one account or sandbox token may do."""

    per_minute: int
    per_day: int
    #: By month bucket; a bucket that is not here is counted without a limit.
    monthly: dict[str, int] = msgspec.field(default_factory=dict)
    #: Requests a sandbox token may make in its life; None for accounts.
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
    """One thing that asks to be let through."""

    #: The account, or the sandbox token, that is counted.
    subject: str
    limits: Limits
    #: The month counter it takes `units` of, or "" for none.
    bucket: str = ""
    units: int = 1
    #: False for units taken outside a request: they use neither minute nor day and do not count in `total`.
    is_request: bool = True
    operation_id: str | None = None


class Counters(Record):
    """What a subject has used of its windows. A window that is over stays until the next use."""

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
    """The answer to a demand."""

    #: As they are after it.
    counters: Counters
    now: datetime
    window: RateWindow
    refused: ErrorRow | None = None
    extras: dict[str, object] = msgspec.field(default_factory=dict)
    #: Month units taken now: none when the operation held them already.
    units_taken: int = 0
    #: The bucket crossed the warning line with this demand.
    warns: bool = False


def demand_of(caller: Caller, meter: str, units: int) -> Demand:
    """A request's demand. A sandbox token is counted by itself and uses no month (spec "Authentication" 7).

    Raises ApiError VALIDATION_ERROR for a meter there is none of, or units below 1.
    """
    if meter not in _ALSO_COUNTS:
        raise errors.invalid("meter", "is not one of " + ", ".join(filter(None, _ALSO_COUNTS)))
    if units < 1:
        raise errors.invalid("units", "must be at least 1")
    if caller.sandbox:
        return Demand(subject=caller.token_id, limits=SANDBOX_LIMITS)
    return Demand(
        subject=caller.account_id,
        limits=TIER_LIMITS[caller.tier],
        bucket=meter,
        units=units,
        operation_id=caller.operation_id if meter in ("publishes", "replies") else None,
    )


def roll(counters: Counters, now: datetime) -> Counters:
    """The counters as they stand now: windows that are over begin anew at zero."""
    changes: dict[str, object] = {}
    if counters.minute_at != (minute := windows.minute_of(now)):
        changes.update(minute_at=minute, minute_count=0)
    if counters.day != (day := windows.day_of(now)):
        changes.update(day=day, day_count=0)
    if counters.year_month != (year_month := windows.month_of(now)):
        zeroes = dict.fromkeys((*plans.BUCKETS, "writes", "total", "warned"), 0)
        changes.update(year_month=year_month, **zeroes)
    return msgspec.structs.replace(counters, **changes) if changes else counters


def decide(before: Counters, demand: Demand, held_units: int, now: datetime) -> Decision:
    """Whether `demand` may go on. `held_units`: what its operation took in an earlier try."""
    counters, limits = roll(before, now), demand.limits
    units = max(0, demand.units - held_units) if demand.bucket else 0
    refusal = _refusal(counters, demand, units, now)
    if refusal:
        row, extras = refusal
        window = _window(counters, limits, now)
        return Decision(counters=before, now=now, window=window, refused=row, extras=extras)

    changes: dict[str, int] = {}
    if demand.bucket:
        changes[demand.bucket] = getattr(counters, demand.bucket) + units
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
    return Decision(
        counters=after, now=now, window=_window(after, limits, now), units_taken=units, warns=warns
    )


def decide_all(
    counters: Mapping[str, Counters], demands: Iterable[Demand], held_units: Mapping[str, int], now: datetime
) -> list[Decision]:
    """Decides demands in their order, each seeing what those before it used."""
    counters, held_units = dict(counters), dict(held_units)
    decisions = []
    for demand in demands:
        held = held_units.get(demand.operation_id, 0) if demand.operation_id else 0
        decision = decide(counters[demand.subject], demand, held, now)
        counters[demand.subject] = decision.counters
        if demand.operation_id:
            held_units[demand.operation_id] = held + decision.units_taken
        decisions.append(decision)
    return decisions


def _refusal(
    counters: Counters, demand: Demand, units: int, now: datetime
) -> tuple[ErrorRow, dict[str, object]] | None:
    """The first limit that is hit: lifetime, minute, day, month (decisions "Sandbox order")."""
    limits = demand.limits
    if demand.is_request:
        if limits.lifetime is not None and counters.lifetime >= limits.lifetime:
            return errors.SANDBOX_EXHAUSTED, {}
        if counters.minute_count >= limits.per_minute:
            return errors.RATE_LIMITED, _wait(windows.minute_ends_at(now), now)
        if counters.day_count >= limits.per_day:
            return errors.DAILY_LIMIT_EXCEEDED, _wait(windows.day_ends_at(now), now)
    limit = limits.monthly.get(demand.bucket)
    if limit is not None and units and getattr(counters, demand.bucket) + units > limit:
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
    """Once per bucket and month (spec "Events"): units given back and taken again do not warn anew."""
    limit = demand.limits.monthly.get(demand.bucket)
    if limit is None or counters.warned & _warned_bit(demand.bucket):
        return False
    return changes[demand.bucket] * 100 >= limit * plans.QUOTA_WARNING_PERCENT


def _warned_bit(bucket: str) -> int:
    return 1 << plans.BUCKETS.index(bucket)
