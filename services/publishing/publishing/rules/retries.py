"""When to try again and when to look again, as data and pure functions."""

from contracts.platforms import DAY_SECONDS

#: Waits before the 2nd, 3rd and 4th attempt (decisions "Publish attempts": at once, then 1, 5 and 15 minutes later).
RETRY_WAITS_SECONDS = (60, 300, 900)
MAX_ATTEMPTS = 1 + len(RETRY_WAITS_SECONDS)
#: Past the settling time looks come a quarter of its age apart, within these. Our choice.
LATE_LOOK_SECONDS, RAREST_LOOK_SECONDS = 30.0, 3_600.0


def wait_before_next(attempts: int, platform_wait_seconds: float | None = None) -> float | None:
    """Seconds until the next attempt after `attempts` retryable failures; None when none is left.

    The platform's own wait is honoured when it is longer, up to a day (our choice).
    """
    if attempts >= MAX_ATTEMPTS:
        return None
    return max(RETRY_WAITS_SECONDS[max(attempts, 1) - 1], min(platform_wait_seconds or 0, DAY_SECONDS))


def wait_before_look(unknown_seconds: float, first_seconds: float, settle_seconds: float) -> float:
    """Seconds until the next look at an outcome that has been unknown for `unknown_seconds`.

    Looks come after `first_seconds`, then at twice the age each, one of them at `settle_seconds` exactly:
    if the platform still has nothing then, it never had. What is unknown even so is looked at ever rarer.
    """
    if unknown_seconds >= settle_seconds:
        return min(max(unknown_seconds / 4, LATE_LOOK_SECONDS), RAREST_LOOK_SECONDS)
    return min(max(first_seconds, 2 * unknown_seconds), settle_seconds) - unknown_seconds
