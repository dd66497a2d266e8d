"""What to do with a lane's due posts: send, put off or give up. Pure; times in, decision out."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from publishing.rules.guardrails import judge


@dataclass(slots=True)
class Plan:
    """Post ids by what is to become of them."""

    send: list[str] = field(default_factory=list)
    put_off: dict[str, datetime] = field(default_factory=dict)
    #: Found due so late that they are not sent any more (decisions).
    missed: list[str] = field(default_factory=list)


def plan_lane(
    now: datetime,
    due: Sequence[tuple[str, datetime]],
    platform: str,
    *,
    page: Sequence[datetime],
    brand: list[datetime],
    window_seconds: float,
) -> Plan:
    """Decides for (post id, due at) in their order; what is sent now is added to `brand` for the next lanes.

    A post that would break a cap waits for the first time that fits, and those behind it keep their order.
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
