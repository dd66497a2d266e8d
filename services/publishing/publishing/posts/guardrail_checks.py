"""Checks posts against the guardrails, at times read under the database's locks. The rules are in
`rules/guardrails.py`."""

import math
from collections.abc import Collection
from datetime import datetime, timedelta

from chassis.db.operations import Effect
from contracts.errors import ApiError
from contracts.platforms import BRAND_PER_24H
from publishing.records import PageRow
from publishing.rules.guardrails import REACH, Breach, judge
from publishing.store.posts import COUNTED_FOR_PUBLISH, COUNTED_FOR_SCHEDULE, Neighbours, Posts, Surroundings


def lock_for_schedule(store: Posts, page_id: str, at: datetime, effect: Effect) -> Surroundings:
    """Locks what a post scheduled for `at` can conflict with: its operation, page, brand and the platform's page,
    until the transaction ends.

    No other call can take the last place under a cap meanwhile (`Posts.lock_around`). Raises Done for an operation
    that has made another post, IDEMPOTENCY_IN_PROGRESS for a voided try.
    """
    return _lock(store, page_id, at, COUNTED_FOR_SCHEDULE, effect)


def lock_for_publish(store: Posts, page_id: str, effect: Effect) -> Surroundings:
    """Locks what a post published at once can conflict with, as `lock_for_schedule` does for a scheduled post."""
    return _lock(store, page_id, None, COUNTED_FOR_PUBLISH, effect)


def _lock(
    store: Posts, page_id: str, at: datetime | None, states: Collection[str], effect: Effect
) -> Surroundings:
    account_id = effect.caller.account_id
    around = store.lock_around(page_id, account_id, at, states=states, effect=effect)
    around.operation.check(effect.result)
    return around


def breach_of_move(store: Posts, page: PageRow, at: datetime, post_id: str) -> Breach | None:
    """Returns the guardrail that a queued post would break if it was moved to `at`, or None. Locks its page and
    brand."""
    states = COUNTED_FOR_SCHEDULE
    around = store.lock_around(page.id, page.account_id, at, states=states, without=post_id)
    return breach_of_schedule(store, page, at, around.near, without=post_id)


def breach_of_dry_run(store: Posts, page: PageRow, at: datetime | None) -> Breach | None:
    """Returns the guardrail that a post at `at` would break, or a post published now if `at` is None; None if it
    breaks none. Takes no lock."""
    states = COUNTED_FOR_PUBLISH if at is None else COUNTED_FOR_SCHEDULE
    around = store.lock_around(page.id, page.account_id, at, states=states, is_dry_run=True)
    if at is None:
        return breach_of_publish(store, page, around.now, around.near)
    return breach_of_schedule(store, page, at, around.near)


def breach_of_schedule(
    store: Posts, page: PageRow, at: datetime, near: Neighbours, *, without: str = ""
) -> Breach | None:
    """Returns the guardrail that a post scheduled for `at` would break, given the other posts around that time, or
    None. `without`: the id of the post itself, if it is stored already."""
    if judge(at, page.platform, page=near.page, brand=_crowd(near, at), scheduled=near.scheduled) is None:
        return None
    later = store.all_later(page.id, page.brand_id, at - REACH, states=COUNTED_FOR_SCHEDULE, without=without)
    return judge(at, page.platform, page=later.page, brand=later.brand, scheduled=later.scheduled)


def breach_of_publish(store: Posts, page: PageRow, now: datetime, near: Neighbours) -> Breach | None:
    """Returns the guardrail that a publish at once would break, or None. Counts posts that are or may be published;
    there is no minimum gap."""
    if judge(now, page.platform, page=near.page, brand=_crowd(near, now)) is None:
        return None
    later = store.all_later(page.id, page.brand_id, now - REACH, states=COUNTED_FOR_PUBLISH)
    return judge(now, page.platform, page=later.page, brand=later.brand)


def _crowd(near: Neighbours, at: datetime) -> list[datetime]:
    """Returns made-up times for the brand's posts, because their real times are not read.

    The check of the brand's cap only counts times: there are as many as the cap if the brand has reached it, otherwise
    none.
    """
    return [at] * BRAND_PER_24H if near.brand_count >= BRAND_PER_24H else []


def refusal(breach: Breach, asked_at: datetime) -> ApiError:
    """Builds the error for a broken guardrail. Its wait counts from `asked_at`: the requested time (schedule) or now
    (publish)."""
    wait = math.ceil((breach.next_allowed_at - asked_at).total_seconds())
    next_allowed_at = stamp(breach.next_allowed_at)
    message = f"{breach.row.message} The next free time is {next_allowed_at}."
    return ApiError(breach.row, message, retry_after_seconds=wait, next_allowed_at=next_allowed_at)


def stamp(at: datetime) -> str:
    """Formats a time in the text of an error as the API writes times. Rounded up to a millisecond, so that a request
    for that time succeeds."""
    at += timedelta(microseconds=-at.microsecond % 1000)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
