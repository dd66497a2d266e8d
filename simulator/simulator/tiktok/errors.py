"""Errors of TikTok's API, in its JSON format. Successful answers have the same format, with the code `ok`.

Codes and statuses: developers.tiktok.com/doc/tiktok-api-v2-error-handling and the reference of each call, read in
November 2026.
"""

import secrets
from typing import Any

_STATUS = {
    "access_token_invalid": 401,
    "scope_not_authorized": 401,
    "rate_limit_exceeded": 429,
    "internal_error": 500,
    **dict.fromkeys(
        (
            "spam_risk", "spam_risk_too_many_posts", "privacy_level_option_mismatch", "url_ownership_unverified",
            "unaudited_client_can_only_post_to_private_accounts",
        ),
        403,
    ),
}  # fmt: skip


class TikTokError(Exception):
    """Raised to answer a call with an error of TikTok's API."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message

    @property
    def status(self) -> int:
        return _STATUS.get(self.code, 400)

    def body(self) -> dict[str, Any]:
        """Returns the JSON body of the error."""
        return {"data": {}, "error": _error(self.code, self.message)}


class UploadRefused(Exception):
    """Raised to refuse a chunk. The upload hosts answer with this HTTP status and an empty body."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


def good(data: dict[str, Any]) -> dict[str, Any]:
    """Returns the JSON body of a successful answer."""
    return {"data": data, "error": _error("ok", "")}


def invalid(message: str) -> TikTokError:
    """Returns the error for an invalid parameter."""
    return TikTokError("invalid_params", message)


def unknown_path() -> TikTokError:
    """Returns the error for a path that TikTok does not have."""
    return TikTokError("invalid_params", "Unsupported path")


def expired() -> TikTokError:
    """Returns the error for an invalid or expired token."""
    return TikTokError("access_token_invalid", "The access token is invalid or not found in the request.")


def unauthorized() -> TikTokError:
    """Returns the error for a call whose scope the token lacks."""
    return TikTokError(
        "scope_not_authorized",
        "The user did not authorize the scope required for completing this request.",
    )


def refusal(mode: str, operation: str) -> TikTokError:
    """Returns TikTok's error for a planned fault of this mode (one of `faults.REFUSALS`)."""
    if mode == "expired":
        return expired()
    if mode == "server_error":
        return TikTokError("internal_error", "Something went wrong. Please try again later.")
    if mode == "rate_limit":
        return TikTokError("rate_limit_exceeded", "The API rate limit was exceeded. Please try again later.")
    if operation in ("publish", "upload"):
        return TikTokError("spam_risk", "The post is held to be risky by TikTok.")
    return unauthorized()


def _error(code: str, message: str) -> dict[str, Any]:
    return {"code": code, "message": message, "log_id": secrets.token_hex(16).upper()}
