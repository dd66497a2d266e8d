"""Reads an account's monthly counters, refunds units, checks unconfirmed units, and sets a sandbox token's use."""

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

#: How long charges are kept, so that a unit can be refunded and is not taken twice. An idempotency key lives a day
#: (spec "Authentication" 10) and an unknown outcome is settled sooner; the rest is a margin for outages. Our choice.
CHARGES_KEPT = timedelta(days=3)
#: Rows deleted in one transaction, which bounds how long they are locked.
FORGET_BATCH = 500
#: Charges per event: about 50 KB of the 256 KiB that a message may have. Our choice.
ASK_BATCH = 500
#: The buckets that the publishing service can confirm.
_CONFIRMED = ("publishes", "replies")
#: The largest value of the column.
_MAX_COUNT = 2**31 - 1


def get_usage(store: Store, caller: Caller) -> Usage:
    """Returns what the account has used this month and its limits; for a sandbox token, the figures of its account."""
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
    """Gives back the unit of an operation, because its try `try_number` was refused. If a later try has been charged,
    that try keeps the unit. Does nothing without an operation id.
    """
    if operation_id is not None:
        _give_back(store, account_id, operation_id, try_number)


def return_unit(store: Store, account_id: str, operation_id: str, to_try: int) -> None:
    """Gives back the unit of an operation, because the publishing service has found that its tries up to `to_try` had
    no effect.
    """
    _give_back(store, account_id, operation_id, to_try)
    store.wait_for_disk()  # an acknowledged event is not delivered again


def _give_back(store: Store, account_id: str, operation_id: str, to_try: int) -> None:
    """Marks the tries of an operation up to `to_try` as over, so that a late charge by one of them takes no unit.

    If one of these tries holds a unit of this month, subtracts it from the month's count. The counts of past months
    stay as they are.
    """
    locked = store.lock([account_id], [operation_id])
    if locked is None:
        store.add([account_id])
        locked = store.lock([account_id], [operation_id])
    assert locked is not None, "the row existed, or this transaction added it"
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
    """Asks the publishing service about the next batch of charges: whether the publishes and replies whose units are
    still held had an effect. Returns how many charges are in the batch.

    Takes charges in the order of their times, each once: the event and the new position are committed together. No
    charge is missed, because each is committed within seconds of its time, and only those older than `older_than` are
    taken.
    """
    reached = store.lock_confirmation()
    found = store.unconfirmed(reached, older_than, ASK_BATCH) if reached is not None else []
    if found:
        held = [charge for charge, _ in found if charge.is_held and charge.bucket in _CONFIRMED]
        store.ask(held, to=found[-1][1])
    return len(found)


def ask_again(store: Store, undecided: UnitsUndecided) -> None:
    """Moves charges that the publishing service could not decide on to the end of the order, so that it is asked about
    them again later. Commits.

    Raises ApiError SERVICE_UNAVAILABLE if another transaction holds one of the charges; then the event is delivered
    again.
    """
    store.ask_again([(one.operation_id, one.try_number) for one in undecided.charges])


def forget_charges(store: Store) -> int:
    """Deletes one batch of charges that are too old for a refund, on an autocommit connection. Returns how many it
    deleted.
    """
    return store.forget_charges(CHARGES_KEPT, FORGET_BATCH)


def forget_counters(store: Store, now: datetime) -> int:
    """Deletes one batch of counter rows last used before the previous month. Returns how many it deleted.

    Keeps the row of a sandbox token that has ever been used. The other rows are not needed: a missing row counts as
    zero, and so does a row of a past month.
    """
    last_month = windows.month_of(now.replace(day=1) - timedelta(days=1))
    return store.forget_counters(last_month, FORGET_BATCH)


def set_sandbox_use(store: Store, caller: Caller, request: SetSandboxUse) -> None:
    """Sets how many requests a sandbox token has used in total. A repeated call of one operation changes nothing.

    Only the operator may do this; a token with the scope `*` may not. Raises ApiError MISSING_SCOPE for any other
    caller, and VALIDATION_ERROR for a count out of range.
    """
    caller.check_operator()
    if not 0 <= request.count <= _MAX_COUNT:
        raise errors.invalid("count", f"must be 0 to {_MAX_COUNT}")
    store.set_lifetime(caller, request.token_id, request.count)
