"""The exceptions of this library: one class for each category of the API's errors, and those for calls without an
answer.

Every exception is a `PosthasteError`. An `ApiError` has the API's `code` and `request_id`; GET /errors lists the codes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from posthaste.error_codes import CATEGORIES


class PosthasteError(Exception):
    """The base class of all exceptions of this library, except those of `posthaste.webhooks`."""


class NoAnswer(PosthasteError):
    """No answer came: the server could not be reached, took too long, or the connection was lost.

    A write may have taken effect. Repeat it with `idempotency_key`, which makes sure that it takes effect once.
    """

    def __init__(self, message: str, *, idempotency_key: str | None) -> None:
        super().__init__(message)
        #: None: the call takes no key.
        self.idempotency_key = idempotency_key


class UnexpectedAnswer(PosthasteError):
    """The answer is not what the API documents, for example because a proxy answered, or base_url is another server."""


@dataclass(frozen=True)
class FieldError:
    """One broken rule of a request's field."""

    field: str
    message: str


class ApiError(PosthasteError):
    """The API refused the call. Its text says what happened; GET /errors says for each code what to do."""

    def __init__(
        self,
        status: int,
        body: dict[str, Any],
        *,
        retry_after_seconds: float | None = None,
        idempotency_key: str | None = None,
    ) -> None:
        self.status = status
        self.code = str(body.get("code", ""))
        self.message = str(body.get("error") or f"HTTP status {status}")
        #: Identifies the request in the server's logs.
        self.request_id = str(body.get("request_id", ""))
        self.fields = _field_errors(body)
        self.retry_after_seconds = retry_after_seconds
        #: The idempotency key with which the call can be repeated; None: the call takes no key.
        self.idempotency_key = idempotency_key
        #: The whole body, with the extra fields of some codes, such as `required_scope`.
        self.body = body
        super().__init__(
            f"{self.code}: {self.message}" + (f" ({self.request_id})" if self.request_id else "")
        )


class InvalidRequest(ApiError):
    """The request breaks a rule; `fields` names the fields."""


class AuthenticationError(ApiError):
    """The token is missing, unknown, expired or revoked, or the password is wrong."""


class PermissionDenied(ApiError):
    """The token lacks a scope, or may not reach the brand."""


class ResourceError(ApiError):
    """There is no such thing, or its state does not permit the call."""


class LimitReached(ApiError):
    """A rate limit, quota or guardrail refuses the call for now."""


class MediaError(ApiError):
    """The file is refused, or the storage is full."""


class AiError(ApiError):
    """An image, video or caption could not be made, or credits are missing."""


class PlatformError(ApiError):
    """The social platform, or the page's connection to it, refuses the call."""


class OutcomeUnknown(PlatformError):
    """The platform did not say whether it published. Posthaste is finding out: read the post `post_id` later, or repeat
    the call with `idempotency_key`. With another key it might be published twice."""

    @property
    def post_id(self) -> str | None:
        return self.body.get("post_id")


class IdempotencyError(ApiError):
    """The idempotency key was used for another request, or that request is still running."""


class ServerError(ApiError):
    """The server failed, or a part of it did not answer in time."""


#: Category of an error (GET /errors) → its class.
FAMILIES: dict[str, type[ApiError]] = {
    "request": InvalidRequest,
    "authentication": AuthenticationError,
    "permission": PermissionDenied,
    "resource": ResourceError,
    "limits": LimitReached,
    "media": MediaError,
    "ai": AiError,
    "platform": PlatformError,
    "idempotency": IdempotencyError,
    "server": ServerError,
}
#: HTTP status → class of an error whose code this version does not know.
_BY_STATUS: dict[int, type[ApiError]] = {
    401: AuthenticationError,
    403: PermissionDenied,
    404: ResourceError,
    409: ResourceError,
    429: LimitReached,
}


def api_error(
    status: int, body: dict[str, Any], *, retry_after_seconds: float | None, idempotency_key: str | None
) -> ApiError:
    """Returns the exception for an error of the API. Its class depends on the error's code. If this version of the
    library does not know the code, the class depends on the HTTP status.
    """
    code = body.get("code")
    if code == "PLATFORM_OUTCOME_UNKNOWN":
        family: type[ApiError] = OutcomeUnknown
    elif code in CATEGORIES:
        family = FAMILIES[CATEGORIES[code]]
    else:
        family = _BY_STATUS.get(status, ServerError if status >= 500 else InvalidRequest)
    return family(status, body, retry_after_seconds=retry_after_seconds, idempotency_key=idempotency_key)


def _field_errors(body: dict[str, Any]) -> tuple[FieldError, ...]:
    found = [
        FieldError(str(one.get("field", "")), str(one.get("message", "")))
        for one in body.get("errors") or ()
        if isinstance(one, dict)
    ]
    if not found and isinstance(body.get("field"), str):
        found = [FieldError(body["field"], str(body.get("error", "")))]
    return tuple(found)
