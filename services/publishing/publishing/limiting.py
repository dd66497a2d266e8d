"""The guardrails asked with the database's knowledge, under its locks. The rules are `guardrails.py`."""

import math
from datetime import datetime, timedelta

from chassis.operations import Effect
from contracts.errors import NOT_FOUND, ApiError
from contracts.platforms import BRAND_PER_24H
from publishing.guardrails import REACH, Breach, judge
from publishing.records import PageRow
from publishing.store.posts import COUNTED_FOR_PUBLISH, COUNTED_FOR_SCHEDULE, Neighbours, Posts


def breach_of_schedule(
    store: Posts,
    page: PageRow,
    at: datetime,
    *,
    effect: Effect | None = None,
    without: str = "",
    is_dry_run: bool = False,
) -> Breach | None:
    """The rule that a post scheduled for `at` would break, if any; `effect`: the post is going to be stored.

    Holds the locks of the brand and of the platform's page until the transaction ends: no other call takes the place
    under a cap meanwhile (`Posts.lock_around`). A dry run takes no lock.

    Raises Done for an operation that has made another post, IDEMPOTENCY_IN_PROGRESS for a voided try, NOT_FOUND for an
    unlinked page.
    """
    near = store.lock_around(
        page, at, states=COUNTED_FOR_SCHEDULE, effect=effect, without=without, is_dry_run=is_dry_run
    )
    _check_effect(near, effect)
    if _judge(page, at, near) is None:
        return None
    later = store.all_later(page.id, page.brand_id, at - REACH, states=COUNTED_FOR_SCHEDULE, without=without)
    return judge(at, page.platform, page=later.page, brand=later.brand, scheduled=later.scheduled)


def breach_of_publish(
    store: Posts, page: PageRow, now: datetime, *, effect: Effect | None = None, is_dry_run: bool = False
) -> Breach | None:
    """The same for a publish at once, which counts what went out or may have; no minimum gap (decisions)."""
    near = store.lock_around(page, now, states=COUNTED_FOR_PUBLISH, effect=effect, is_dry_run=is_dry_run)
    _check_effect(near, effect)
    if _judge(page, now, Neighbours(near.page, [], [], near.brand_count)) is None:
        return None
    later = store.all_later(page.id, page.brand_id, now - REACH, states=COUNTED_FOR_PUBLISH)
    return judge(now, page.platform, page=later.page, brand=later.brand)


def _check_effect(near: Neighbours, effect: Effect | None) -> None:
    if effect is None:
        return
    near.operation.check(effect.result)
    if near.is_unlinked:
        raise ApiError(NOT_FOUND, field="page_id")


def refusal(breach: Breach, asked_at: datetime) -> ApiError:
    """Builds the error; the wait counts from the asked time (schedule) or from now (publish)."""
    wait = math.ceil((breach.next_allowed_at - asked_at).total_seconds())
    return ApiError(breach.row, retry_after_seconds=wait, next_allowed_at=stamp(breach.next_allowed_at))


def stamp(at: datetime) -> str:
    """Formats a time inside an error as the API writes times. Rounded up to a millisecond, so that a request for that
    time succeeds."""
    at += timedelta(microseconds=-at.microsecond % 1000)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _judge(page: PageRow, at: datetime, near: Neighbours) -> Breach | None:
    """Cheap first look: a brand with fewer posts than its cap around that time needs no list of them."""
    brand = [at] * BRAND_PER_24H if near.brand_count >= BRAND_PER_24H else []
    return judge(at, page.platform, page=near.page, brand=brand, scheduled=near.scheduled)
