"""What YouTube's refusals mean: its reasons as a table (platforms.md 7), and how long it says to wait."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from publishing.platforms.base import PlatformRefusal, Refusal
from publishing.platforms.wire import Reply, retry_after

_UPLOAD_LIMIT_SECONDS = 43_200.0
#: Where the day of the quotas ends.
_PACIFIC = ZoneInfo("America/Los_Angeles")

_REASONS: Mapping[str, Refusal] = {
    **dict.fromkeys(("authError", "invalidCredentials", "required", "unauthorized"), Refusal.EXPIRED),
    **dict.fromkeys(
        ("quotaExceeded", "dailyLimitExceeded", "rateLimitExceeded", "userRateLimitExceeded", "uploadLimitExceeded"),
        Refusal.RATE_LIMITED,
    ),
    **dict.fromkeys(
        (
            "forbidden", "insufficientPermissions", "commentsDisabled", "youtubeSignupRequired", "channelClosed",
            "channelSuspended", "accountDelegationForbidden", "accessNotConfigured", "ineligibleAccount",
        ),
        Refusal.PERMISSION,
    ),
    **dict.fromkeys(
        ("backendError", "internalError", "processingFailure", "serviceUnavailable", "SERVICE_UNAVAILABLE"),
        Refusal.TRANSIENT,
    ),
}  # fmt: skip
#: Buckets of the whole project that are filled again at midnight Pacific.
_UNTIL_MIDNIGHT = ("quotaExceeded", "dailyLimitExceeded")
#: Reasons by which YouTube owns up to a failure in the middle of the work: after the deed they prove nothing.
_BROKEN = ("backendError", "internalError", "processingFailure", "serviceUnavailable", "SERVICE_UNAVAILABLE")


def named(reply: Reply) -> tuple[str, str] | None:
    """(reason, message) of an error in Google's envelope; None when it is none."""
    error = reply.body.get("error") if isinstance(reply.body, dict) else None
    if not isinstance(error, dict):
        return None
    rows = error.get("errors")
    first = rows[0] if isinstance(rows, list) and rows and isinstance(rows[0], dict) else {}
    reason = str(first.get("reason") or error.get("status") or error.get("code") or reply.status)
    return reason, str(error.get("message") or first.get("message") or "YouTube gave no reason.")


def is_broken(reply: Reply) -> bool:
    """Whether the answer leaves open what became of the call."""
    found = named(reply)
    return reply.status >= 500 or (found is not None and found[0] in _BROKEN)


def refusal_from(reply: Reply, now: datetime | None = None) -> PlatformRefusal | None:
    """The refusal in an answer; None when it is not in Google's own words."""
    found = named(reply)
    if found is None:
        return None
    reason, message = found
    kind = _kind(reply.status, reason)
    wait = _wait(reply, reason, now or datetime.now(UTC)) if kind is Refusal.RATE_LIMITED else None
    return PlatformRefusal(kind, reason, message, wait)


def _kind(status: int, reason: str) -> Refusal:
    if status >= 500:
        # A platform in trouble may say anything; a page is not cut off for it.
        return Refusal.TRANSIENT
    if reason in _REASONS:
        return _REASONS[reason]
    by_status: dict[int, Refusal] = {
        401: Refusal.EXPIRED,
        403: Refusal.PERMISSION,
        408: Refusal.TRANSIENT,
        429: Refusal.RATE_LIMITED,
    }
    return by_status.get(status, Refusal.REJECTED)


def _wait(reply: Reply, reason: str, now: datetime) -> float | None:
    if reason in _UNTIL_MIDNIGHT:
        return seconds_to_midnight(now)
    if reason == "uploadLimitExceeded":
        # The channel's own rolling count of videos; half a day, as a post is not sent a day late. Our choice.
        return _UPLOAD_LIMIT_SECONDS
    return retry_after(reply.headers)


def seconds_to_midnight(now: datetime) -> float:
    """How long it is until the quotas are filled again: the next midnight in California, summer time and all."""
    today = now.astimezone(_PACIFIC)
    midnight = datetime.combine(today.date() + timedelta(days=1), datetime.min.time(), _PACIFIC)
    return (midnight.astimezone(UTC) - now).total_seconds()


def problem_of(video: Mapping[str, Any]) -> PlatformRefusal | None:
    """Why YouTube gave a video up that it had taken; None when it has not."""
    status = video.get("status") or {}
    state = status.get("uploadStatus")
    if state not in ("failed", "rejected", "deleted"):
        return None
    why = str(status.get("failureReason") or status.get("rejectionReason") or "unspecified")
    message = f"YouTube has taken the video and then {state} it: {why}."
    return PlatformRefusal(Refusal.REJECTED, f"{state}/{why}", message)
