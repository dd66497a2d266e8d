"""What TikTok's refusals mean: its codes as tables (platforms.md 5). They come with HTTP 200 as well as with 4xx."""

from collections.abc import Mapping
from typing import Any

from publishing.platforms.base import DAYS_LIMIT_SECONDS, PlatformRefusal, Refusal
from publishing.platforms.wire import Reply, retry_after

#: TikTok's windows of calls are a minute long.
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
    # The file could not be fetched, also when that is TikTok's own trouble.
    **dict.fromkeys(("video_pull_failed", "photo_pull_failed", "internal"), Refusal.TRANSIENT),
}
_BROKEN = ("internal_error",)

#: The publish id is not known, or not ours.
UNKNOWN_PUBLISH = ("invalid_publish_id", "token_not_authorized_for_specified_publish_id")


def error_in(reply: Reply) -> Mapping[str, Any] | None:
    """TikTok's own envelope of a call; None when the answer has none. Its code is `ok` when nothing is wrong."""
    error = reply.body.get("error") if isinstance(reply.body, dict) else None
    return error if isinstance(error, dict) and error.get("code") is not None else None


def is_broken(reply: Reply, error: Mapping[str, Any]) -> bool:
    """Whether the answer leaves open what became of the call."""
    return reply.status >= 500 or error["code"] in _BROKEN


def refusal_from(reply: Reply, error: Mapping[str, Any]) -> PlatformRefusal:
    """The refusal in an error envelope."""
    code = str(error["code"])
    kind = _CODES.get(code, Refusal.REJECTED)
    if reply.status >= 500:
        # A platform in trouble may say anything; a page is not cut off for it.
        kind = Refusal.TRANSIENT
    elif code not in _CODES and reply.status == 429:
        kind = Refusal.RATE_LIMITED
    wait = _wait(code, reply) if kind is Refusal.RATE_LIMITED else None
    return PlatformRefusal(kind, code, str(error.get("message") or "TikTok gave no reason."), wait)


def failure(reason: str) -> PlatformRefusal:
    """Why a post came to nothing that TikTok had taken (`fail_reason`)."""
    kind = _REASONS.get(reason, Refusal.REJECTED)
    wait = DAYS_LIMIT_SECONDS if reason in _CAPS else None
    message = f"TikTok took the post and could not publish it: {reason or 'no reason given'}."
    return PlatformRefusal(kind, reason or "FAILED", message, wait)


def _wait(code: str, reply: Reply) -> float:
    return retry_after(reply.headers) or (DAYS_LIMIT_SECONDS if code in _CAPS else _MINUTE_SECONDS)
