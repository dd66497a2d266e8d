"""Decides whether a call is repeated, and after which pause. No I/O.

Only calls that cannot take effect twice are repeated: reads, writes with an idempotency key, and calls that certainly
had no effect, because they did not reach the server or were refused with 429.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from time import time
from typing import Any

#: Pauses grow from the first to the last, doubling each time.
_FIRST_PAUSE_SECONDS, _LAST_PAUSE_SECONDS = 0.5, 8.0
#: Codes of 503 for which a repetition would fail too.
_PERMANENT = frozenset({"AI_NOT_CONFIGURED"})
#: Statuses of a proxy's answer, and of a server that failed during the request.
_SERVER_STATUSES = frozenset({500, 502, 503, 504})


@dataclass(frozen=True)
class RetryPolicy:
    """How often a call is repeated, and the longest Retry-After for which the client waits."""

    max_retries: int = 7
    #: A longer Retry-After, such as that of a daily limit, is raised at once as LimitReached.
    max_wait_seconds: float = 60.0


@dataclass(frozen=True)
class Answer:
    """A complete HTTP answer. The names of `headers` are lower case."""

    status: int
    headers: dict[str, str]
    content: bytes


@dataclass(frozen=True)
class Failure:
    """A call without an answer. `reached_server`: whether the request may have arrived, and may have taken effect."""

    reason: str
    reached_server: bool


def pause_before_retry(
    policy: RetryPolicy,
    retries: int,
    outcome: Answer | Failure,
    body: dict[str, Any] | None,
    *,
    repeatable: bool,
) -> float | None:
    """Returns the seconds to wait before the next try, or None if there should be none.

    `retries`: repetitions so far. `body`: the API's error in the answer, or None if there is none. `repeatable`:
    whether the call may run twice without a second effect.
    """
    if retries >= policy.max_retries:
        return None
    backoff = min(_FIRST_PAUSE_SECONDS * 2**retries, _LAST_PAUSE_SECONDS) * random.uniform(0.75, 1.0)
    if isinstance(outcome, Failure):
        return backoff if repeatable or not outcome.reached_server else None
    if not _is_worth_repeating(outcome, body, repeatable):
        return None
    asked = retry_after_seconds(outcome)
    if asked is None:
        return backoff if outcome.status != 429 else None  # a limit without Retry-After lasts for long
    return max(asked, backoff) if asked <= policy.max_wait_seconds else None


def _is_worth_repeating(answer: Answer, body: dict[str, Any] | None, repeatable: bool) -> bool:
    if answer.status == 429:
        return True
    if not repeatable:
        return False
    code = (body or {}).get("code")
    if answer.status in _SERVER_STATUSES:
        return code in (None, "SERVER_ERROR") or (answer.status == 503 and code not in _PERMANENT)
    return code == "IDEMPOTENCY_IN_PROGRESS"


def retry_after_seconds(answer: Answer) -> float | None:
    """Returns for how many seconds the header Retry-After asks the client to wait. The header may hold a number or a
    date. Returns None if it is missing or malformed.
    """
    text = answer.headers.get("retry-after", "").strip()
    if not text:
        return None
    try:
        return max(0.0, float(text))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time())
    except ValueError:
        return None
