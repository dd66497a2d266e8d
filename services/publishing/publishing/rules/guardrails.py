"""The publish guardrails: how many posts a page and a brand may publish in an hour and a day. Decides which due posts
of a page are sent now, put off or given up. Pure.

Figures: `contracts.platforms` (spec, "Limits"). Every rule forbids some stretches of time; a post fits at a time that
no stretch covers. Windows are rolling (docs/decisions.md, "Guardrail windows"): a post counts in a window of 3,600 s
until exactly 3,600 s after it was published.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple

from contracts.errors import BRAND_PUBLISH_GUARDRAIL, PAGE_PUBLISH_GUARDRAIL, ErrorRow
from contracts.platforms import BRAND_PER_24H, DAY_SECONDS, HOUR_SECONDS, MIN_SCHEDULE_GAP_SECONDS, PLATFORMS


class Window(NamedTuple):
    """A cap: at most `cap` posts in any period of `seconds`."""

    cap: int
    seconds: int


class Stretch(NamedTuple):
    """A stretch of time in which one more post would break a rule. A post exactly at its start or end breaks none."""

    after: datetime
    before: datetime


class Breach(NamedTuple):
    """The guardrail that a post would break, as an error, and the first later time at which it would break none."""

    row: ErrorRow
    next_allowed_at: datetime


BRAND_WINDOW = Window(BRAND_PER_24H, DAY_SECONDS)
#: Posts further away than this from a time never count at that time.
REACH = timedelta(seconds=DAY_SECONDS)


def page_windows(platform: str) -> tuple[Window, ...]:
    """Returns the caps of a page on this platform; none for YouTube."""
    row = PLATFORMS[platform]
    caps = ((row.per_hour, HOUR_SECONDS), (row.per_24h, DAY_SECONDS))
    return tuple(Window(cap, seconds) for cap, seconds in caps if cap is not None)


def full(times: Iterable[datetime], window: Window) -> list[Stretch]:
    """Returns the stretches of time in which one more post would exceed the cap, given the times of the other posts."""
    ordered, span = sorted(times), timedelta(seconds=window.seconds)
    runs = zip(ordered, ordered[window.cap - 1 :], strict=False)
    return [Stretch(last - span, first + span) for first, last in runs if last - first < span]


def too_close(scheduled: Iterable[datetime]) -> list[Stretch]:
    """Returns the stretches of time in which a post would be nearer to a scheduled one than the minimum gap."""
    gap = timedelta(seconds=MIN_SCHEDULE_GAP_SECONDS)
    return [Stretch(at - gap, at + gap) for at in scheduled]


def first_fit(at: datetime, stretches: Iterable[Stretch]) -> datetime:
    """Returns the first time, not before `at`, that no stretch covers; `at` itself if it fits."""
    for after, before in sorted(stretches):
        if after < at < before:
            at = before
    return at


def judge(
    at: datetime,
    platform: str,
    *,
    page: Sequence[datetime],
    brand: Sequence[datetime],
    scheduled: Sequence[datetime] = (),
) -> Breach | None:
    """Returns the guardrail that a post at `at` would break; None if it breaks none.

    `page` and `brand`: the times of the other posts of its page and of its brand. `scheduled`: the times of the page's
    scheduled posts, from each of which the post must be at least MIN_SCHEDULE_GAP_SECONDS away.
    """
    of_page = too_close(scheduled)
    for window in page_windows(platform):
        of_page += full(page, window)
    of_brand = full(brand, BRAND_WINDOW)
    fit = first_fit(at, of_page + of_brand)
    if fit == at:
        return None
    is_page = first_fit(at, of_page) != at
    return Breach(PAGE_PUBLISH_GUARDRAIL if is_page else BRAND_PUBLISH_GUARDRAIL, fit)


@dataclass(slots=True)
class Plan:
    """What happens to the due posts of one page: the ids of those sent now, of those put off (id → until when), and of
    those missed because they are too late.
    """

    send: list[str] = field(default_factory=list)
    put_off: dict[str, datetime] = field(default_factory=dict)
    #: Found due too late to be sent (decisions, "A post found due more than 24 h late").
    missed: list[str] = field(default_factory=list)


def plan_queue(
    now: datetime,
    due: Sequence[tuple[str, datetime]],
    platform: str,
    *,
    page: Sequence[datetime],
    brand: list[datetime],
    window_seconds: float,
) -> Plan:
    """Plans the due posts of one page, given as (post id, due at) in the order they go out.

    `page` and `brand` are the times at which posts of the page and of the brand went out. The posts sent now are added
    to `brand`, so that the next page of the brand counts them. A post that would break a cap waits for the first time
    that fits, and later posts stay behind it. A post due more than `window_seconds` ago is given up.
    """
    plan, page_times, brand_times, at = Plan(), list(page), list(brand), now
    for post_id, due_at in due:
        if now - due_at > timedelta(seconds=window_seconds):
            plan.missed.append(post_id)
            continue
        breach = judge(at, platform, page=page_times, brand=brand_times)
        at = breach.next_allowed_at if breach else at
        page_times.append(at)
        brand_times.append(at)
        if at > now:
            plan.put_off[post_id] = at
        else:
            plan.send.append(post_id)
            brand.append(at)
    return plan
