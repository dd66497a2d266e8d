"""Tells what X's errors mean: tables of its problem objects (RFC 7807), and how long to wait (docs/platforms.md,
section 6)."""

import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any

from publishing.platforms.base import PlatformRefusal, Refusal
from publishing.platforms.http_client import retry_after

#: Codes of ours for errors that X tells only by a sentence.
DUPLICATE, REPLY_RESTRICTED = "duplicate", "reply-restricted"
#: X's sentences for them, compared as a whole. Any other wording is an ordinary refusal.
_SENTENCES = {
    "you are not allowed to create a tweet with duplicate content.": DUPLICATE,
    "you are not allowed to create a post with duplicate content.": DUPLICATE,
    "you can only reply to or quote posts where you are mentioned or are the author.": REPLY_RESTRICTED,
}
#: The last part of a problem's type → the kind of refusal. It takes precedence over the status.
_TYPES = {
    # Concerns the whole app, not the page: nothing is sent until somebody buys credits.
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
#: Limits of 15 minutes and of a day; the longest wait of the exhausted ones counts.
_LIMITS = ("x-rate-limit", "x-user-limit-24hour", "x-app-limit-24hour")


def problem_of(body: Any) -> Mapping[str, Any] | None:
    """Returns the problem object in an answer: the answer itself, or the first entry of its `errors`; None if there is
    none.
    """
    if not isinstance(body, dict):
        return None
    if body.get("title") or body.get("detail"):
        return body
    errors = body.get("errors")
    return errors[0] if isinstance(errors, list) and errors and isinstance(errors[0], dict) else None


def refusal_from(
    problem: Mapping[str, Any], status: int, headers: Mapping[str, str], visible: bool
) -> PlatformRefusal:
    """Builds the refusal from a problem object.

    `visible`: the call makes a post that others see. A 403 of an unknown type then means that X refuses the content of
    the post.
    """
    message = str(
        problem.get("detail") or problem.get("message") or problem.get("title") or "X gave no reason."
    )
    name = str(problem.get("type") or "").rstrip("/").rpartition("/problems/")[2]
    sentence = _SENTENCES.get(message.strip().lower())
    if status >= 500:
        # Errors of a broken platform are not reliable: no page is disconnected because of one.
        kind = Refusal.TRANSIENT
    elif sentence or (visible and status == 403 and name not in _TYPES):
        kind = Refusal.REJECTED
    else:
        kind = _TYPES.get(name) or _STATUSES.get(status, Refusal.REJECTED)
    wait = wait_in(headers) if kind is Refusal.RATE_LIMITED else None
    code = sentence or (name if name and name != "about:blank" else str(status))
    return PlatformRefusal(kind, code, message, wait)


def wait_in(headers: Mapping[str, str]) -> float | None:
    """Returns the seconds until X accepts calls again, counted from the time in X's answer; None if X does not say."""
    used_up = [name for name in _LIMITS if headers.get(f"{name}-remaining") == "0"] or _LIMITS[:1]
    resets = [headers.get(f"{name}-reset", "") for name in used_up]
    times = [int(text) for text in resets if text.isascii() and text.isdigit()]
    return max(max(times) - _now(headers), 1.0) if times else retry_after(headers)


def _now(headers: Mapping[str, str]) -> float:
    try:
        return parsedate_to_datetime(headers["Date"]).timestamp()
    except (KeyError, ValueError):
        return time.time()
