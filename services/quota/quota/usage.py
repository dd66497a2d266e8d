"""What was used: the month's counters, units given back, a sandbox token's use."""

from datetime import timedelta

import msgspec

from contracts import errors
from contracts.caller import Caller
from contracts.quota import BucketUse, SetSandboxUse, Usage
from quota import windows
from quota.decision import TIER_LIMITS, roll
from quota.store import Store

#: How long an operation's units can be given back and are not taken again. An idempotency key lives a day
#: (spec "Authentication" 10), an unknown outcome is settled sooner; the rest is room for outages. Our choice.
CHARGES_KEPT = timedelta(days=3)
#: Charges forgotten in one transaction. Our choice.
FORGET_BATCH = 500
#: What the column holds.
_MAX_COUNT = 2**31 - 1


def get_usage(store: Store, caller: Caller) -> Usage:
    """The account's counters of this month, also for a sandbox token of it."""
    counters, now = store.usage(caller.account_id)
    counters, limits = roll(counters, now), TIER_LIMITS[caller.tier]

    def use(bucket: str) -> BucketUse:
        used, limit = getattr(counters, bucket), limits.monthly.get(bucket)
        return BucketUse(used=used, limit=limit, remaining=None if limit is None else max(0, limit - used))

    return Usage(
        year_month=counters.year_month,
        resets_at=windows.month_ends_at(now),
        publishes=use("publishes"),
        replies=use("replies"),
        reads=use("reads"),
        webhooks=use("webhooks"),
        writes=use("writes"),
        total_requests=counters.total,
    )


def refund(store: Store, account_id: str, operation_id: str | None, units: int) -> None:
    """Gives back up to `units` of a call that failed or failed in part; a repetition gives nothing more."""
    _give_back(store, account_id, operation_id, units, by_call=True)


def return_unit(store: Store, account_id: str, operation_id: str) -> None:
    """Gives back the unit of a publish that, as is known only now, did not happen."""
    _give_back(store, account_id, operation_id, 1, by_call=False)
    store.wait_for_disk()  # an event that was acknowledged does not come again


def _give_back(store: Store, account_id: str, operation_id: str | None, units: int, *, by_call: bool) -> None:
    """Units of a month that is over are gone with it."""
    if operation_id is None or (locked := store.lock([account_id], [operation_id])) is None:
        return
    charge = locked.charges.get(operation_id)
    if charge is None or charge.account_id != account_id or (by_call and charge.refunded):
        return
    given = min(max(units, 0), charge.units)
    counters = locked.counters[account_id]
    changed, held = [], []
    if counters.year_month == charge.year_month:
        left = max(0, getattr(counters, charge.bucket) - given)
        changed = [msgspec.structs.replace(counters, **{charge.bucket: left})]
    if given == charge.units:
        store.release(operation_id)
    else:
        left = charge.units - given
        held = [msgspec.structs.replace(charge, units=left, refunded=charge.refunded or by_call)]
    store.write(locked.counters, changed, held)


def forget_charges(store: Store) -> int:
    """One small batch of charges too old to be given back; returns how many there were."""
    return store.forget_charges(CHARGES_KEPT, FORGET_BATCH)


def set_sandbox_use(store: Store, caller: Caller, request: SetSandboxUse) -> None:
    """Sets a sandbox token's lifetime use. For the operator alone: no token, `*` included, holds that scope.

    Raises ApiError MISSING_SCOPE, VALIDATION_ERROR.
    """
    caller.check_operator()
    if not 0 <= request.count <= _MAX_COUNT:
        raise errors.invalid("count", f"must be 0 to {_MAX_COUNT}")
    store.set_lifetime(request.token_id, request.count)
