"""What X's refusals mean: its problems (RFC 7807) as tables, and how long it says to wait (platforms.md 6)."""

import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any

from publishing.platforms.base import PlatformRefusal, Refusal
from publishing.platforms.wire import retry_after

#: Codes of ours for what X tells by a sentence alone.
DUPLICATE, REPLY_RESTRICTED = "duplicate", "reply-restricted"
#: X's own words for them, compared as a whole. Other wordings are refused all the same, with the words handed on.
_SENTENCES = {
    "you are not allowed to create a tweet with duplicate content.": DUPLICATE,
    "you are not allowed to create a post with duplicate content.": DUPLICATE,
    "you can only reply to or quote posts where you are mentioned or are the author.": REPLY_RESTRICTED,
}
#: By the last part of a problem's type; one that is listed says more than its status.
_TYPES = {
    # The whole app's, not the page's: nothing goes out until somebody pays.
    "credits-depleted": Refusal.PERMISSION,
    "usage-capped": Refusal.RATE_LIMITED,
    "client-forbidden": Refusal.PERMISSION,
    "not-authorized-for-resource": Refusal.PERMISSION,
    "oauth1-permissions": Refusal.PERMISSION,
    "unsupported-authentication": Refusal.PERMISSION,
    "resource-unavailable": Refusal.TRANSIENT,
}
_STATUSES = {
    401: Refusal.EXPIRED,
    402: Refusal.PERMISSION,
    403: Refusal.PERMISSION,
    408: Refusal.TRANSIENT,
    429: Refusal.RATE_LIMITED,
}
#: Limits of 15 minutes and of a day; the longest wait among those that are used up counts.
_LIMITS = ("x-rate-limit", "x-user-limit-24hour", "x-app-limit-24hour")


def problem_of(body: Any) -> Mapping[str, Any] | None:
    """The problem in an answer, its own or the first of a list; None when X says nothing of the kind."""
    if not isinstance(body, dict):
        return None
    if body.get("title") or body.get("detail"):
        return body
    errors = body.get("errors")
    return errors[0] if isinstance(errors, list) and errors and isinstance(errors[0], dict) else None


def refusal_from(
    problem: Mapping[str, Any], status: int, headers: Mapping[str, str], visible: bool
) -> PlatformRefusal:
    """The refusal in a problem. `visible`: of a call that makes a post, which is refused for what it says."""
    message = str(
        problem.get("detail") or problem.get("message") or problem.get("title") or "X gave no reason."
    )
    name = str(problem.get("type") or "").rstrip("/").rpartition("/problems/")[2]
    sentence = _SENTENCES.get(message.strip().lower())
    if status >= 500:
        # A platform in trouble may say anything; a page is not cut off for it.
        kind = Refusal.TRANSIENT
    elif sentence or (visible and status == 403 and name not in _TYPES):
        kind = Refusal.REJECTED
    else:
        kind = _TYPES.get(name) or _STATUSES.get(status, Refusal.REJECTED)
    wait = wait_in(headers) if kind is Refusal.RATE_LIMITED else None
    code = sentence or (name if name and name != "about:blank" else str(status))
    return PlatformRefusal(kind, code, message, wait)


def wait_in(headers: Mapping[str, str]) -> float | None:
    """Seconds until calls are taken again, by X's own clock; None: not said."""
    used_up = [name for name in _LIMITS if headers.get(f"{name}-remaining") == "0"] or _LIMITS[:1]
    resets = [headers.get(f"{name}-reset", "") for name in used_up]
    times = [int(text) for text in resets if text.isascii() and text.isdigit()]
    return max(max(times) - _now(headers), 1.0) if times else retry_after(headers)


def _now(headers: Mapping[str, str]) -> float:
    try:
        return parsedate_to_datetime(headers["Date"]).timestamp()
    except (KeyError, ValueError):
        return time.time()
