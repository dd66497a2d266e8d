"""Errors of the YouTube Data API, in Google's JSON format. Reasons: docs/platforms.md, section 7."""

from typing import Any

_STATUS = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND"}


class YouTubeError(Exception):
    """Raised to answer a call with an error of the YouTube API."""

    def __init__(self, status: int, reason: str, message: str, domain: str = "youtube.video") -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.message = message
        self.domain = domain

    def body(self) -> dict[str, Any]:
        """Returns the JSON body of the error."""
        row = {"message": self.message, "domain": self.domain, "reason": self.reason}
        error: dict[str, Any] = {"code": self.status, "message": self.message, "errors": [row]}
        if self.status in _STATUS:
            error["status"] = _STATUS[self.status]
        return {"error": error}


def invalid(reason: str, message: str, domain: str = "youtube.video") -> YouTubeError:
    """Returns the error for an invalid parameter."""
    return YouTubeError(400, reason, message, domain)


def missing(reason: str, message: str) -> YouTubeError:
    """Returns the error for a resource that does not exist or is not visible to the caller."""
    return YouTubeError(404, reason, message)


def unauthorized() -> YouTubeError:
    """Returns the error for an invalid or expired token."""
    return YouTubeError(
        401,
        "authError",
        "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid "
        "authentication credential.",
        "global",
    )


def used_up() -> YouTubeError:
    """Returns the error for a used-up daily quota."""
    message = "The request cannot be completed because you have exceeded your quota."
    return YouTubeError(403, "quotaExceeded", message, "youtube.quota")


def refusal(mode: str, operation: str) -> YouTubeError:
    """Returns YouTube's error for a planned fault of this mode (one of `faults.REFUSALS`)."""
    if mode == "expired":
        return unauthorized()
    if mode == "server_error":
        return YouTubeError(503, "backendError", "Backend Error", "global")
    if mode == "rate_limit":
        return YouTubeError(403, "rateLimitExceeded", "Rate Limit Exceeded", "usageLimits")
    if operation in ("upload", "publish"):
        return invalid("invalidVideoMetadata", "The request metadata is invalid.")
    if operation in ("comment", "reply"):
        message = "The comment cannot be created because of its content."
        return invalid("commentTextRejected", message, "youtube.comment")
    return YouTubeError(
        403, "insufficientPermissions", "Request had insufficient authentication scopes.", "global"
    )
