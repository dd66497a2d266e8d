"""Tells what TikTok's errors mean: tables of its codes (docs/platforms.md, section 5), which come with HTTP 200 as well
as 4xx."""

from collections.abc import Mapping
from typing import Any

from publishing.platforms.base import DAYS_LIMIT_SECONDS, PlatformRefusal, Refusal
from publishing.platforms.http_client import Response, retry_after

#: TikTok counts calls per minute.
_MINUTE_SECONDS = 60.0
_CAPS = ("spam_risk_too_many_posts", "spam_risk_too_many_pending_share", "reached_active_user_cap")
_CODES: Mapping[str, Refusal] = {
    "access_token_invalid": Refusal.EXPIRED,
    "rate_limit_exceeded": Refusal.RATE_LIMITED,
    **dict.fromkeys(_CAPS, Refusal.RATE_LIMITED),
    **dict.fromkeys(
        (
            "scope_not_authorized", "scope_permission_missed", "spam_risk_user_banned_from_posting",
            "url_ownership_unverified", "unaudited_client_can_only_post_to_private_accounts",
        ),
        Refusal.PERMISSION,
    ),
    "internal_error": Refusal.TRANSIENT,
}  # fmt: skip
_REASONS: Mapping[str, Refusal] = {
    **_CODES,
    "auth_removed": Refusal.EXPIRED,
    # The file could not be fetched, also because of a failure of TikTok's own.
    **dict.fromkeys(("video_pull_failed", "photo_pull_failed", "internal"), Refusal.TRANSIENT),
}
_BROKEN = ("internal_error",)

#: The publish id is unknown or belongs to another app.
UNKNOWN_PUBLISH = ("invalid_publish_id", "token_not_authorized_for_specified_publish_id")


def error_in(response: Response) -> Mapping[str, Any] | None:
    """Returns the error object in TikTok's answer, or None. Its code is `ok` if nothing is wrong."""
    error = response.body.get("error") if isinstance(response.body, dict) else None
    return error if isinstance(error, dict) and error.get("code") is not None else None


def is_broken(response: Response, error: Mapping[str, Any]) -> bool:
    """Whether the call may have worked although TikTok answered with this error."""
    return response.status >= 500 or error["code"] in _BROKEN


def refusal_from(response: Response, error: Mapping[str, Any]) -> PlatformRefusal:
    """Builds the refusal from the error object of an answer."""
    code = str(error["code"])
    kind = _CODES.get(code, Refusal.REJECTED)
    if response.status >= 500:
        # Errors of a broken platform are not reliable: no page is disconnected because of one.
        kind = Refusal.TRANSIENT
    elif code not in _CODES and response.status == 429:
        kind = Refusal.RATE_LIMITED
    wait = _wait(code, response) if kind is Refusal.RATE_LIMITED else None
    return PlatformRefusal(kind, code, str(error.get("message") or "TikTok gave no reason."), wait)


def failure(reason: str) -> PlatformRefusal:
    """Builds the refusal for a post that TikTok accepted and then could not publish. `reason` is TikTok's
    `fail_reason`."""
    kind = _REASONS.get(reason, Refusal.REJECTED)
    wait = DAYS_LIMIT_SECONDS if reason in _CAPS else None
    message = f"TikTok accepted the post and could not publish it: {reason or 'no reason given'}."
    return PlatformRefusal(kind, reason or "FAILED", message, wait)


def _wait(code: str, response: Response) -> float:
    return retry_after(response.headers) or (DAYS_LIMIT_SECONDS if code in _CAPS else _MINUTE_SECONDS)
