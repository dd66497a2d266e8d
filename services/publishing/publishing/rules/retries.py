"""Decides when a post is tried again, and when an unknown outcome is looked up again. Pure."""

from contracts.platforms import DAY_SECONDS

#: Waits before the 2nd, 3rd and 4th attempt (decisions "Publish attempts": at once, then 1, 5 and 15 minutes later).
RETRY_WAITS_SECONDS = (60, 300, 900)
MAX_ATTEMPTS = 1 + len(RETRY_WAITS_SECONDS)
#: Once an outcome is older than the settle time, it is looked up at intervals of a quarter of its age, within these
#: limits: some 40 calls in the day after which it is given up.
LATE_LOOK_SECONDS, RAREST_LOOK_SECONDS = 30.0, 3_600.0


def wait_before_next(attempts: int, platform_wait_seconds: float | None = None) -> float | None:
    """Returns the seconds until the next attempt after `attempts` retryable failures; None when no attempt is left.

    If the platform asks for a longer wait, returns that, but at most a day, so that no post is sent more
    than a day late.
    """
    if attempts >= MAX_ATTEMPTS:
        return None
    return max(RETRY_WAITS_SECONDS[max(attempts, 1) - 1], min(platform_wait_seconds or 0, DAY_SECONDS))


def wait_before_look(unknown_seconds: float, first_seconds: float, settle_seconds: float) -> float:
    """Returns the seconds until the next look-up of an outcome that has been unknown for `unknown_seconds`.

    The first look-up comes `first_seconds` after the attempt. Each further one comes when the outcome has been unknown
    for twice as long as at the one before. One comes exactly at `settle_seconds`, because a post that the platform does
    not show by then was not published. After that, the interval is a quarter of the time for which the outcome has been
    unknown, at least 30 s and at most an hour.
    """
    if unknown_seconds >= settle_seconds:
        return min(max(unknown_seconds / 4, LATE_LOOK_SECONDS), RAREST_LOOK_SECONDS)
    return min(max(first_seconds, 2 * unknown_seconds), settle_seconds) - unknown_seconds
