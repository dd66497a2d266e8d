"""Waiting for something that takes its time: asked again and again until a deadline, never slept for."""

import os
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_FIRST_PAUSE_SECONDS = 0.02
_LAST_PAUSE_SECONDS = 0.25
#: With `./dev test --slow` everything may take so much longer: a film takes minutes instead of half a second.
_PATIENCE = 12.0 if "TEST_SLOW" in os.environ else 1.0


def until(
    look: Callable[[], T | None], seconds: float, what: str = "", pause_seconds: float = _LAST_PAUSE_SECONDS
) -> T:
    """The first result of `look` that is true in itself. Raises AssertionError with the last one.

    Looks come quickly at first, then every `pause_seconds`: longer where they count against a limit.
    """
    seconds *= _PATIENCE
    end = time.monotonic() + seconds
    pause = _FIRST_PAUSE_SECONDS
    while not (found := look()):
        assert time.monotonic() < end, f"not within {seconds} s: {what or look} (last: {found!r})"
        time.sleep(pause)
        pause = min(pause * 1.5, pause_seconds)
    return found
