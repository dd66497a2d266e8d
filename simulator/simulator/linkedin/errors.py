"""Errors of LinkedIn's API, in its JSON format (docs/platforms.md, section 4)."""

from typing import Any


class LinkedInError(Exception):
    """Raised to answer a call with an error of LinkedIn's API."""

    def __init__(
        self,
        status: int,
        code: str | None,
        message: str,
        service_code: int | None = None,
        *,
        is_input: bool = False,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.body: dict[str, Any] = {"status": status, "message": message}
        if service_code is not None:
            self.body["serviceErrorCode"] = service_code
        if is_input:
            self.body["errorDetailType"] = "com.linkedin.common.error.BadRequest"
            self.body["errorDetails"] = {"inputErrors": [{"description": message, "code": code}]}
        elif code is not None:
            self.body["code"] = code


def invalid(field: str, message: str, code: str = "INVALID_VALUE_FOR_FIELD") -> LinkedInError:
    """Returns the error for an invalid field."""
    return LinkedInError(400, code, f"/{field} :: {message}")


def denied(what: str) -> LinkedInError:
    """Returns the error for a call that the token may not make. Either its scopes do not suffice, or the object belongs
    to somebody else.
    """
    return LinkedInError(403, "ACCESS_DENIED", f"Not enough permissions to access: {what}", 100)


def member_author() -> LinkedInError:
    """Returns the error for a read of a person's posts with a token that only has scopes for company pages.

    Status and message are those of the API's version 202503 (gacabartosz/linkedin-mcp-server f6070c3,
    docs/API-CAPABILITY-MATRIX-org.md). The code is a guess.
    """
    message = "Member permissions must be used when using member as author"
    return LinkedInError(400, "ILLEGAL_ARGUMENT", message)


def not_found(what: str) -> LinkedInError:
    return LinkedInError(404, "NOT_FOUND", f"Could not find entity {what}")


def no_resource() -> LinkedInError:
    """Returns the error for a path that LinkedIn does not have."""
    return LinkedInError(404, "RESOURCE_NOT_FOUND", "No virtual resource found", 0)


def waiting() -> LinkedInError:
    """Returns the error for a file that is not uploaded or not processed yet."""
    return LinkedInError(400, "MEDIA_ASSET_WAITING_UPLOAD", "Media asset is waiting upload")


def duplicate(urn: str) -> LinkedInError:
    """Returns the error for a post with the same content as a recent post, which has this URN."""
    return LinkedInError(422, "DUPLICATE_POST", f"Content is a duplicate of {urn}", is_input=True)


def inactive(version: str) -> LinkedInError:
    """Returns the error for an API version that LinkedIn does not support."""
    return LinkedInError(426, "NONEXISTENT_VERSION", f"Requested version {version} is not active")


def throttled() -> LinkedInError:
    """Returns the error for a call over a daily limit."""
    message = (
        "Resource level throttle APPLICATION_AND_MEMBER DAY limit for calls to this resource is reached."
    )
    return LinkedInError(429, "TOO_MANY_REQUESTS", message, 101)


TOKENS = {
    "INVALID_ACCESS_TOKEN": 65600,
    "REVOKED_ACCESS_TOKEN": 65601,
    "EXPIRED_ACCESS_TOKEN": 65602,
}


def unauthorized(code: str) -> LinkedInError:
    """Returns the error for a token that is unknown, revoked or expired. `code` is a key of `TOKENS`."""
    words = {
        65600: "Invalid access token",
        65601: "The token used in the request has been revoked by the user",
    }
    number = TOKENS[code]
    return LinkedInError(401, code, words.get(number, "The token used in the request has expired"), number)


def refusal(mode: str, operation: str) -> LinkedInError:
    """Returns the error of LinkedIn that a fault of this mode causes. A test orders the fault; its mode is one of
    `faults.REFUSALS`."""
    if mode == "expired":
        return unauthorized("EXPIRED_ACCESS_TOKEN")
    if mode == "server_error":
        return LinkedInError(500, None, "Unable to obtain activity")
    if mode == "rate_limit":
        return throttled()
    if operation in ("publish", "comment", "reply"):
        return LinkedInError(
            422, "UNPROCESSABLE_ENTITY", "The content goes against our Professional Community Policies"
        )
    if operation == "upload":
        return invalid("initializeUploadRequest", "The file is refused")
    return denied(operation)
