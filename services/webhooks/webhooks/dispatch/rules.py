"""Rules of delivering: when a delivery is retried, whose fault a failure is, and how many attempts run at once.
Pure."""

from collections.abc import Sequence

from webhooks.records import MAX_CONSECUTIVE_FAILURES

#: Concurrent attempts to one endpoint: enough for a busy one, few enough not to overload a small server.
MAX_CONCURRENT = 8
#: An endpoint that answers within 50 ms is served as fast by 6, and fewer attempts are repeated after a process was
#: killed. Our choice.
_FAST_SECONDS, _FAST_CONCURRENT = 0.05, 6
#: How long after its due time an attempt is still postponed if it fails for lack of a local resource. Later the failure
#: counts, so that none is postponed for ever.
MAX_POSTPONED_SECONDS = 600.0
#: How long an endpoint must have been unreachable before a success of another endpoint shows that the cause is the
#: receiver's: short failures of our own network are over by then.
_BLAME_SECONDS = 60.0
#: The shortest and longest pause of an endpoint after a postponed attempt; it grows with the outage.
_MIN_PAUSE_SECONDS, _MAX_PAUSE_SECONDS = 1.0, 15.0


def is_acknowledged(status_code: int | None) -> bool:
    """Whether the receiver has accepted the delivery: any 2xx (spec)."""
    return status_code is not None and 200 <= status_code < 300


def retry_wait(failures: int, waits: Sequence[float]) -> float | None:
    """Returns the seconds until the next attempt in case this one fails; None when it is the last.

    `failures`: this delivery's failed attempts before this one; `waits`: the retry schedule, in seconds.
    """
    return waits[failures] if failures < len(waits) else None


def is_receivers_fault(unreachable_since: float, others_at: float) -> bool:
    """Whether a failure to reach an endpoint is the receiver's, not our network's: others were reached meanwhile.

    `unreachable_since`: the time since which each attempt to this endpoint has failed; `others_at`: the last success of
    another endpoint.
    """
    return others_at >= unreachable_since + _BLAME_SECONDS


def pause_seconds(unreachable_seconds: float) -> float:
    """Returns the pause before the next attempt to an endpoint that has been unreachable for `unreachable_seconds`."""
    return min(max(unreachable_seconds, _MIN_PAUSE_SECONDS), _MAX_PAUSE_SECONDS)


def concurrency(consecutive_failures: int, answer_seconds: float, free_slots: int) -> int:
    """Returns how many attempts an endpoint may have running when the process has this many slots free.

    Never more than are left before it is disabled, so that the 20th failure in a row is the last attempt. When slots
    grow scarce each endpoint gets fewer, so that slow ones leave room for the others.
    """
    left = MAX_CONSECUTIVE_FAILURES - consecutive_failures
    most = _FAST_CONCURRENT if answer_seconds < _FAST_SECONDS else MAX_CONCURRENT
    return max(1, min(most, left, free_slots // (2 * MAX_CONCURRENT)))


def prefetch(consecutive_failures: int, acknowledged: int, most: int) -> int:
    """Returns how many deliveries of an endpoint may be loaded before the results of earlier ones are known.

    Each loaded delivery takes a unit of the account's quota. The number grows with each acknowledged delivery, so that
    a dead endpoint takes few units.
    """
    if consecutive_failures > 0:
        return max(1, min(most, MAX_CONSECUTIVE_FAILURES - consecutive_failures))
    return min(most, 2 * MAX_CONCURRENT + acknowledged)
