"""Tells what YouTube's errors mean: a table of its reasons (docs/platforms.md, section 7), and how long to wait."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from publishing.platforms.base import PlatformRefusal, Refusal
from publishing.platforms.http_client import Response, retry_after

_UPLOAD_LIMIT_SECONDS = 43_200.0
#: In this time zone quotas are reset at midnight.
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
#: Quotas of the whole project, reset at midnight Pacific time.
_UNTIL_MIDNIGHT = ("quotaExceeded", "dailyLimitExceeded")
#: Failures inside YouTube: the call may have worked all the same.
_BROKEN = ("backendError", "internalError", "processingFailure", "serviceUnavailable", "SERVICE_UNAVAILABLE")


def named(response: Response) -> tuple[str, str] | None:
    """Returns reason and message of an error in Google's format; None if the answer has none."""
    error = response.body.get("error") if isinstance(response.body, dict) else None
    if not isinstance(error, dict):
        return None
    rows = error.get("errors")
    first = rows[0] if isinstance(rows, list) and rows and isinstance(rows[0], dict) else {}
    reason = str(first.get("reason") or error.get("status") or error.get("code") or response.status)
    return reason, str(error.get("message") or first.get("message") or "YouTube gave no reason.")


def is_broken(response: Response) -> bool:
    """Whether the call may have worked although YouTube answered with this error."""
    found = named(response)
    return response.status >= 500 or (found is not None and found[0] in _BROKEN)


def refusal_from(response: Response, now: datetime | None = None) -> PlatformRefusal | None:
    """Builds the refusal from an answer; None if it is not an error in Google's format."""
    found = named(response)
    if found is None:
        return None
    reason, message = found
    kind = _kind(response.status, reason)
    wait = _wait(response, reason, now or datetime.now(UTC)) if kind is Refusal.RATE_LIMITED else None
    return PlatformRefusal(kind, reason, message, wait)


def _kind(status: int, reason: str) -> Refusal:
    if status >= 500:
        # Errors of a broken platform are not reliable: no page is disconnected because of one.
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


def _wait(response: Response, reason: str, now: datetime) -> float | None:
    if reason in _UNTIL_MIDNIGHT:
        return seconds_to_midnight(now)
    if reason == "uploadLimitExceeded":
        # A rolling count of the channel. Half a day, because a post must not be sent more than a day late. Our choice.
        return _UPLOAD_LIMIT_SECONDS
    return retry_after(response.headers)


def seconds_to_midnight(now: datetime) -> float:
    """Returns the seconds until the next midnight in California, where quotas are reset."""
    today = now.astimezone(_PACIFIC)
    midnight = datetime.combine(today.date() + timedelta(days=1), datetime.min.time(), _PACIFIC)
    return (midnight.astimezone(UTC) - now).total_seconds()


def problem_of(video: Mapping[str, Any]) -> PlatformRefusal | None:
    """Returns a refusal if a video that YouTube had accepted has failed, or was rejected or deleted; otherwise None."""
    status = video.get("status") or {}
    state = status.get("uploadStatus")
    if state not in ("failed", "rejected", "deleted"):
        return None
    why = str(status.get("failureReason") or status.get("rejectionReason") or "unspecified")
    message = f"YouTube accepted the video, then its state became {state}: {why}."
    return PlatformRefusal(Refusal.REJECTED, f"{state}/{why}", message)
