"""What was used: the month's counters, units given back, a sandbox token's use."""

from datetime import datetime, timedelta

import msgspec

from contracts import errors
from contracts.caller import Caller
from contracts.events import UnitsUndecided
from contracts.quota import BucketUse, SetSandboxUse, Usage
from quota import windows
from quota.charges import UnitCharge
from quota.decision import TIER_LIMITS, roll
from quota.store import Store

#: How long an operation's unit can be given back and is not taken again. An idempotency key lives a day
#: (spec "Authentication" 10), an unknown outcome is settled sooner; the rest is room for outages. Our choice.
CHARGES_KEPT = timedelta(days=3)
#: Rows forgotten in one transaction. Our choice.
FORGET_BATCH = 500
#: Charges asked about in one event, some 50 KB of the 256 KiB that a message may have. Our choice.
ASK_BATCH = 500
#: The buckets whose calls publishing knows of.
_CONFIRMED = ("publishes", "replies")
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


def refund(store: Store, account_id: str, operation_id: str | None, try_number: int) -> None:
    """Gives back the unit of a call that was refused, unless a later try of its operation has been charged."""
    if operation_id is not None:
        _give_back(store, account_id, operation_id, try_number)


def return_unit(store: Store, account_id: str, operation_id: str, to_try: int) -> None:
    """Gives back the unit of tries that, as is known only now, published nothing."""
    _give_back(store, account_id, operation_id, to_try)
    store.wait_for_disk()  # an event that was acknowledged does not come again


def _give_back(store: Store, account_id: str, operation_id: str, to_try: int) -> None:
    """Also notes that these tries are over, for charges that come later. A unit of a past month has gone with it."""
    locked = store.lock([account_id], [operation_id])
    if locked is None:
        store.add([account_id])
        locked = store.lock([account_id], [operation_id])
    assert locked is not None, "the row was there, or was added by this transaction"
    before = locked.charges.get(operation_id) or UnitCharge(operation_id=operation_id, account_id=account_id)
    after = before.returned(to_try)
    if before.account_id != account_id or after is before:
        return
    counters = locked.counters[account_id]
    changed = []
    if before.is_held and not after.is_held and counters.year_month == before.year_month:
        left = max(0, getattr(counters, before.bucket) - 1)
        changed = [msgspec.structs.replace(counters, **{before.bucket: left})]
    store.write(locked.counters, changed, [after])


def ask_about_charges(store: Store, older_than: timedelta) -> int:
    """Asks publishing about one batch of units that are still held; returns how many charges there were.

    Each charge is passed once, in the order of their times: the event and the place reached are committed together.
    A charge commits within seconds of its time, so none can appear behind the place.
    """
    reached = store.lock_confirmation()
    found = store.unconfirmed(reached, older_than, ASK_BATCH) if reached is not None else []
    if found:
        held = [charge for charge, _ in found if charge.is_held and charge.bucket in _CONFIRMED]
        store.ask(held, to=found[-1][1])
    return len(found)


def ask_again(store: Store, undecided: UnitsUndecided) -> None:
    """Has these charges asked about again, once they are as old as any other; the transaction is over with it.

    Raises ApiError SERVICE_UNAVAILABLE when another transaction holds one of them: the event comes again.
    """
    store.ask_again([(one.operation_id, one.try_number) for one in undecided.charges])


def forget_charges(store: Store) -> int:
    """One small batch of charges too old to be given back, on a connection in autocommit; returns how many."""
    return store.forget_charges(CHARGES_KEPT, FORGET_BATCH)


def forget_counters(store: Store, now: datetime) -> int:
    """One small batch of accounts that did nothing in this month and the last; returns how many there were.

    Without a row all windows are at zero, as they are with one whose month is over.
    """
    last_month = windows.month_of(now.replace(day=1) - timedelta(days=1))
    return store.forget_counters(last_month, FORGET_BATCH)


def set_sandbox_use(store: Store, caller: Caller, request: SetSandboxUse) -> None:
    """Sets a sandbox token's lifetime use. For the operator alone: no token, `*` included, holds that scope.

    Raises ApiError MISSING_SCOPE, VALIDATION_ERROR.
    """
    caller.check_operator()
    if not 0 <= request.count <= _MAX_COUNT:
        raise errors.invalid("count", f"must be 0 to {_MAX_COUNT}")
    store.set_lifetime(request.token_id, request.count)
