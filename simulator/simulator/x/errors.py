"""Errors of the X API, in the format of RFC 7807 (docs/platforms.md, section 6)."""

from typing import Any

_PROBLEMS = "https://api.x.com/2/problems/"
DUPLICATE = "You are not allowed to create a Tweet with duplicate content."
#: X's rule for self-serve apps since 23 February 2026.
REPLY_RESTRICTED = "You can only reply to or quote posts where you are mentioned or are the author."


class XError(Exception):
    """Raised to answer a call with an error of the X API. `problem` is the last part of the URL in `type`; without it
    `type` is about:blank.
    """

    def __init__(
        self,
        status: int,
        title: str,
        detail: str,
        problem: str | None = None,
        errors: list[Any] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.body: dict[str, Any] = {
            "title": title,
            "detail": detail,
            "type": _PROBLEMS + problem if problem else "about:blank",
            "status": status,
        }
        if errors is not None:
            self.body["errors"] = errors
            del self.body["status"]


def invalid(parameter: str, value: Any, message: str) -> XError:
    """Returns the error for an invalid parameter."""
    errors = [{"parameters": {parameter: [str(value)]}, "message": message}]
    detail = "One or more parameters to your request was invalid."
    return XError(400, "Invalid Request", detail, "invalid-request", errors)


def forbidden(detail: str) -> XError:
    """Returns the error for a call that X does not permit. `detail` is the only reason that X gives; it has no code."""
    return XError(403, "Forbidden", detail)


def unauthorized() -> XError:
    """Returns the error for a missing, wrong or expired token."""
    return XError(401, "Unauthorized", "Unauthorized")


def too_many() -> XError:
    """Returns the error for a used-up rate limit."""
    return XError(429, "Too Many Requests", "Too Many Requests")


def out_of_credits() -> XError:
    """Returns the error for an app without credits; all accounts of the app share them."""
    return XError(402, "Payment Required", "credits depleted", "credits-depleted")


def not_found(what: str, parameter: str, value: str) -> dict[str, Any]:
    """Returns the answer to a read whose object does not exist. X sends this error with HTTP 200."""
    detail = f"Could not find {what} with {parameter}: [{value}]."
    problem = {
        "value": value, "detail": detail, "title": "Not Found Error", "resource_type": what, "parameter": parameter,
        "resource_id": value, "type": _PROBLEMS + "resource-not-found",
    }  # fmt: skip
    return {"errors": [problem]}


def refusal(mode: str, operation: str) -> XError:
    """Returns X's error for a planned fault of this mode (one of `faults.REFUSALS`)."""
    if mode == "expired":
        return unauthorized()
    if mode == "server_error":
        return XError(503, "Service Unavailable", "Service Unavailable")
    if mode == "rate_limit":
        return too_many()
    if operation == "reply":
        return forbidden(REPLY_RESTRICTED)
    if operation == "upload":
        return invalid("media", "file", "The media you tried to upload was invalid.")
    if operation in ("publish", "comment"):
        return forbidden("You are not permitted to perform this action.")
    detail = "When authenticating requests to the X API v2 endpoints, you must use keys and tokens of an enrolled app."
    return XError(403, "Client Forbidden", detail, "client-forbidden")
