"""The guardrails asked with the database's knowledge, exact under concurrency. The rules are `guardrails.py`."""

import math
from datetime import datetime, timedelta

from contracts.errors import ApiError
from contracts.platforms import BRAND_PER_24H
from publishing.guardrails import REACH, Breach, judge
from publishing.records import PageRow
from publishing.store.posts import COUNTED_FOR_PUBLISH, COUNTED_FOR_SCHEDULE, Neighbours, Posts


def breach_of_schedule(
    store: Posts, page: PageRow, at: datetime, *, operation_id: str | None = None, without: str = ""
) -> tuple[Breach | None, str | None]:
    """The rule that a post scheduled for `at` would break, if any, and the post this operation has already made.

    Holds the brand's lock until the transaction ends: what follows cannot make the answer wrong.
    """
    near = store.lock_around(
        page.id, page.brand_id, at, states=COUNTED_FOR_SCHEDULE, operation_id=operation_id, without=without
    )
    breach = _judge(page, at, near)
    if breach is None or near.repeated_id is not None:
        return None, near.repeated_id
    later = store.all_later(page.id, page.brand_id, at - REACH, states=COUNTED_FOR_SCHEDULE, without=without)
    return judge(at, page.platform, page=later.page, brand=later.brand, scheduled=later.scheduled), None


def breach_of_publish(
    store: Posts, page: PageRow, now: datetime, *, operation_id: str | None = None
) -> tuple[Breach | None, str | None]:
    """The same for a publish at once, which counts what went out or may have; no minimum gap (decisions)."""
    near = store.lock_around(
        page.id, page.brand_id, now, states=COUNTED_FOR_PUBLISH, operation_id=operation_id
    )
    near = Neighbours(near.page, [], [], near.brand_count, near.repeated_id)
    if _judge(page, now, near) is None or near.repeated_id is not None:
        return None, near.repeated_id
    later = store.all_later(page.id, page.brand_id, now - REACH, states=COUNTED_FOR_PUBLISH)
    return judge(now, page.platform, page=later.page, brand=later.brand), None


def refusal(breach: Breach, asked_at: datetime) -> ApiError:
    """The error; the wait is told from the asked time (schedule) or from now (publish)."""
    wait = math.ceil((breach.next_allowed_at - asked_at).total_seconds())
    return ApiError(breach.row, retry_after_seconds=wait, next_allowed_at=stamp(breach.next_allowed_at))


def stamp(at: datetime) -> str:
    """A time of ours inside an error, as the API writes times; never before it: asked for, it has to fit."""
    at += timedelta(microseconds=-at.microsecond % 1000)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _judge(page: PageRow, at: datetime, near: Neighbours) -> Breach | None:
    """Cheap first look: a brand with fewer posts than its cap around that time needs no list of them."""
    brand = [at] * BRAND_PER_24H if near.brand_count >= BRAND_PER_24H else []
    return judge(at, page.platform, page=near.page, brand=brand, scheduled=near.scheduled)
