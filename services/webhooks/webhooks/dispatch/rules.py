"""What becomes of a delivery after an attempt, and how many may be on their way. Pure: data in, answer out."""

from collections.abc import Sequence
from typing import NamedTuple

#: Spec "Events", Delivery rules 3.
MAX_CONSECUTIVE_FAILURES = 20
#: Attempts at once to one endpoint. Our choice.
MAX_AT_ONCE = 8
#: To one that answers within so many seconds fewer do as well, and what is on its way when a process is killed is sent
#: again. Our choice.
_QUICK_SECONDS, _QUICK_AT_ONCE = 0.05, 6
#: How long a due attempt is put off that fails for want of something of ours; from then on it is made. Our choice.
OUR_PATIENCE_SECONDS = 600.0
#: For so long what is wanting may be wanting for all: what others got last may be from before. Our choice.
_DOUBT_SECONDS = 60.0
#: Until a lane is tried again for which something is wanting, at least and at most. Our choice.
_LEAST_PAUSE_SECONDS, _MOST_PAUSE_SECONDS = 1.0, 15.0
#: Reasons of `disabled_reason`.
GONE, FAILING = "gone", "consecutive_failures"
_GONE_STATUS = 410


class Standing(NamedTuple):
    """A subscription between two attempts."""

    is_active: bool
    consecutive_failures: int
    #: Why it was disabled just now.
    disabled_reason: str | None = None


class Verdict(NamedTuple):
    """What becomes of the delivery: delivered, failed, or pending again after `wait_seconds`."""

    state: str
    wait_seconds: float
    standing: Standing


def is_acknowledged(status_code: int | None) -> bool:
    """Any 2xx (spec)."""
    return status_code is not None and 200 <= status_code < 300


def judge(
    status_code: int | None,
    *,
    failures: int,
    standing: Standing,
    waits: Sequence[float],
    is_ours: bool = False,
) -> Verdict:
    """`failures`: failed attempts at this delivery before this one; `waits`: the retry schedule, in seconds.

    `is_ours`: it failed for want of something of ours, which says nothing against the subscription.
    """
    if is_acknowledged(status_code):
        return Verdict("delivered", 0, standing._replace(consecutive_failures=0))
    if not is_ours:
        standing = standing._replace(consecutive_failures=standing.consecutive_failures + 1)
    if standing.is_active:
        reason = _reason_to_disable(status_code, standing.consecutive_failures)
        if reason is None and failures < len(waits):
            return Verdict("pending", waits[failures], standing)
        if reason is not None:
            standing = standing._replace(is_active=False, disabled_reason=reason)
    return Verdict("failed", 0, standing)


def wants_alone(wanting_since: float, others_at: float) -> bool:
    """Whether something is wanting at the receiver's: others still got theirs when it had been for a while."""
    return others_at >= wanting_since + _DOUBT_SECONDS


def pause_seconds(wanting_seconds: float) -> float:
    """Until the next attempt, when something has been wanting for so long."""
    return min(max(wanting_seconds, _LEAST_PAUSE_SECONDS), _MOST_PAUSE_SECONDS)


def _reason_to_disable(status_code: int | None, consecutive_failures: int) -> str | None:
    if status_code == _GONE_STATUS:
        return GONE
    return FAILING if consecutive_failures >= MAX_CONSECUTIVE_FAILURES else None


def places(consecutive_failures: int, answer_seconds: float, free: int) -> int:
    """How many attempts at once an endpoint may have, itself included, when the process has so many places free.

    Never more than what is left before it is disabled, so that the 20th failure is the last attempt. When places
    grow scarce everybody gets fewer, so that slow endpoints leave room for the others.
    """
    left = MAX_CONSECUTIVE_FAILURES - consecutive_failures
    most = _QUICK_AT_ONCE if answer_seconds < _QUICK_SECONDS else MAX_AT_ONCE
    return max(1, min(most, left, free // (2 * MAX_AT_ONCE)))


def ahead(consecutive_failures: int, acknowledged: int, most: int) -> int:
    """How many deliveries may be taken up, and so charged for, before it is known how the last attempts went.

    More with everything that went well, so that little is charged for an endpoint that turns out to be dead.
    """
    if consecutive_failures > 0:
        return max(1, min(most, MAX_CONSECUTIVE_FAILURES - consecutive_failures))
    return min(most, 2 * MAX_AT_ONCE + acknowledged)
