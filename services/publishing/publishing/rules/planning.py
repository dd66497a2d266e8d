"""Decides which due posts of a page are sent now, put off or given up. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from publishing.rules.guardrails import judge


@dataclass(slots=True)
class Plan:
    """The decision about the due posts of one page, as post ids."""

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
