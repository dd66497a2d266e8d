"""Polls until a condition is true or the time is up."""

import os
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

#: How long a gateway may take to learn of a revoked token, a new tier or lost access. It is told by a broadcast;
#: without it, its cache would be valid for 10 s (CALLER_CACHE_SECONDS). test_tokens.py checks that it takes less than
#: 1 s under load.
HEARD_SECONDS = 5.0

_FIRST_PAUSE_SECONDS = 0.02
_LAST_PAUSE_SECONDS = 0.25
#: Factor of all timeouts with `./dev test --slow`, where a film takes minutes instead of half a second.
_PATIENCE = 12.0 if "TEST_SLOW" in os.environ else 1.0


def until(
    look: Callable[[], T | None], seconds: float, what: str = "", pause_seconds: float = _LAST_PAUSE_SECONDS
) -> T:
    """Calls `look` until its result is true, and returns that result. Raises AssertionError, with the last result,
    after `seconds`.

    It polls quickly at first, then every `pause_seconds`. Use a longer pause where each poll counts against a rate
    limit.
    """
    seconds *= _PATIENCE
    end = time.monotonic() + seconds
    pause = _FIRST_PAUSE_SECONDS
    while not (found := look()):
        assert time.monotonic() < end, f"not within {seconds} s: {what or look} (last: {found!r})"
        time.sleep(pause)
        pause = min(pause * 1.5, pause_seconds)
    return found
