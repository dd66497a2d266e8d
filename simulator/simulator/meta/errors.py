"""Errors of the Graph API, in Meta's JSON format. Codes and subcodes: docs/platforms.md, sections 1 to 3."""

import secrets
from typing import Any


class GraphError(Exception):
    """Raised to answer a call with an error of the Graph API, with HTTP 400 unless `status` says otherwise."""

    def __init__(
        self,
        code: int,
        message: str,
        subcode: int | None = None,
        *,
        kind: str = "OAuthException",
        status: int = 400,
        transient: bool = False,
        title: str | None = None,
        data: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.subcode = subcode
        self.kind = kind
        self.status = status
        self.transient = transient
        self.title = title
        self.data = data

    def body(self) -> dict[str, Any]:
        """Returns the JSON body of the error."""
        error: dict[str, Any] = {"message": self.message, "type": self.kind, "code": self.code}
        if self.subcode is not None:
            error["error_subcode"] = self.subcode
            error["is_transient"] = self.transient
            error["error_user_title"] = self.title or "Error"
            error["error_user_msg"] = self.message
        elif self.transient:
            error["is_transient"] = True
        if self.data is not None:
            error["error_data"] = self.data
        error["fbtrace_id"] = "A" + secrets.token_urlsafe(16)
        return {"error": error}


def invalid(message: str, subcode: int | None = None) -> GraphError:
    """Returns the error for an invalid parameter."""
    return GraphError(100, f"(#100) {message}", subcode)


def missing(node_id: str, method: str) -> GraphError:
    """Returns the error for an object that does not exist, or that the caller may not see, or on which this call is not
    possible.
    """
    return GraphError(
        100,
        f"Unsupported {method.lower()} request. Object with ID '{node_id}' does not exist, cannot be loaded "
        "due to missing permissions, or does not support this operation. Please read the Graph API "
        "documentation at https://developers.facebook.com/docs/graph-api",
        33,
        kind="GraphMethodException",
    )


def expired() -> GraphError:
    """Returns the error for an expired token."""
    return GraphError(
        190,
        "Error validating access token: Session has expired. The current time is past it.",
        463,
        title="Expired",
    )


def refusal(mode: str, platform: str, operation: str) -> GraphError:
    """Returns Meta's error for a planned fault of this mode (one of `faults.REFUSALS`)."""
    if mode == "expired":
        return expired()
    if mode == "server_error":
        message = "An unexpected error has occurred. Please retry your request later."
        return GraphError(2, message, status=500, transient=True)
    if mode == "rate_limit":
        if platform == "IG":
            return GraphError(80002, "(#80002) There have been too many calls to this Instagram account.")
        return GraphError(32, "(#32) Page request limit reached")
    if operation in ("publish", "upload", "comment", "reply"):
        message = "Your content couldn't be shared, because it goes against our Community Standards"
        return GraphError(368, message, 1346003, title="Content blocked")
    return GraphError(10, "(#10) Application does not have permission for this action")
