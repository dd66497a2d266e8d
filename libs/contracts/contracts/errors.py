"""Every error that a client can see, in one table, and the exception `ApiError`.

The errors are documented in docs/spec.md, "Errors", and docs/decisions.md, "Errors". To refuse a call, a service raises
one of them: `raise ApiError(errors.PAGE_PUBLISH_GUARDRAIL, retry_after_seconds=30)`.
"""

from typing import Any

from contracts.record import Record


class ErrorRow(Record):
    """One documented error: its stable code, HTTP status, category, default message and recommended fix."""

    code: str
    http_status: int
    category: str
    message: str
    recommended_fix: str


ERRORS: dict[str, ErrorRow] = {}


def _row(code: str, http_status: int, category: str, message: str, recommended_fix: str) -> ErrorRow:
    row = ErrorRow(
        code=code,
        http_status=http_status,
        category=category,
        message=message,
        recommended_fix=recommended_fix,
    )
    ERRORS[code] = row
    return row


class ApiError(Exception):
    """The error that a service answers with. `extras` are the additional fields of its code, as JSON values."""

    def __init__(self, row: ErrorRow, message: str | None = None, **extras: Any) -> None:
        super().__init__(row.code, message or row.message)
        self.row = row
        self.message = message or row.message
        self.extras = extras

    @property
    def code(self) -> str:
        return self.row.code


def invalid(field: str, message: str) -> ApiError:
    """Builds a VALIDATION_ERROR for a single field."""
    return ApiError(VALIDATION_ERROR, f"{field}: {message}", errors=[{"field": field, "message": message}])


# fmt: off
# --- request ---
MISSING_FIELD = _row("MISSING_FIELD", 400, "request", "A required field is missing.",
    "Send the field named in `field`.")
VALIDATION_ERROR = _row("VALIDATION_ERROR", 400, "request", "A field has an invalid value.",
    "Correct the fields listed in `errors`.")
INVALID_JSON = _row("INVALID_JSON", 400, "request", "The body is not a JSON object.",
    "Send one JSON object, UTF-8 encoded, with Content-Type: application/json.")
INVALID_DATE = _row("INVALID_DATE", 400, "request", "The timestamp is malformed or has no time zone.",
    "Send an RFC 3339 timestamp with a zone, for example 2026-12-01T09:00:00Z.")
SCHEDULE_OUT_OF_RANGE = _row("SCHEDULE_OUT_OF_RANGE", 400, "request",
    "scheduled_at must be at least 10 minutes and at most 75 days in the future.",
    "Choose a time between `earliest` and `latest`, or publish at once with POST /posts/publish.")
INVALID_MEDIA_URL = _row("INVALID_MEDIA_URL", 400, "request",
    "A media URL is not a public http(s) address.",
    "Use a public http or https URL; localhost, private ranges and other schemes are refused.")
INVALID_FILE_CONTENT = _row("INVALID_FILE_CONTENT", 400, "media",
    "The file's bytes do not match its declared type.",
    "Upload the original, or export it as JPEG, PNG, GIF, WebP, MP4, MOV or WebM; send it under its real MIME type or none.")
UPLOAD_ERROR = _row("UPLOAD_ERROR", 400, "media", "The upload is incomplete or of a type that is not accepted.",
    "Send multipart/form-data with one part named file of an allowed type.")
NO_FILE = _row("NO_FILE", 400, "media", "The part named file is missing.", "Send the file in a part named file.")
INVALID_IDEMPOTENCY_KEY = _row("INVALID_IDEMPOTENCY_KEY", 400, "idempotency",
    "The Idempotency-Key is missing, empty or longer than 120 characters.", "Send a key of 1 to 120 characters; a UUIDv4 is recommended.")
INVALID_REFERENCE_MEDIA = _row("INVALID_REFERENCE_MEDIA", 400, "ai",
    "A reference is unreachable, not an image, or not yours.", "Use a public image URL or the id of an image you own.")
UNSUPPORTED_PLATFORM = _row("UNSUPPORTED_PLATFORM", 400, "platform", "The platform does not offer this.",
    "See the platform table in the documentation for what each platform offers.")
PAGE_EXPIRED = _row("PAGE_EXPIRED", 400, "platform", "The page's connection to the platform has expired.",
    "Reconnect the page, then send the request again.")
PAGE_PERMISSION_MISSING = _row("PAGE_PERMISSION_MISSING", 400, "platform",
    "The page's connection lacks a permission that the platform requires for this.",
    "Remove `field`, or reconnect the page with an app that has the permission (docs/platforms says which).")
INVALID_LINK = _row("INVALID_LINK", 400, "authentication", "The link is incomplete, was used before, or has expired.",
    "Ask for a new one: with POST /auth/password/forgot, POST /auth/email/change, or the person who invited you.")
# --- authentication ---
INVALID_CREDENTIALS = _row("INVALID_CREDENTIALS", 401, "authentication", "The e-mail address or the password is wrong.",
    "Check both, or ask for a new password with POST /auth/password/forgot.")
TOTP_REQUIRED = _row("TOTP_REQUIRED", 401, "authentication", "This account needs a code besides the password.",
    "Send the code of the authenticator app, or a recovery code, as `totp_code`.")
INVALID_TOTP = _row("INVALID_TOTP", 401, "authentication", "The code is wrong, has expired, or was used before.",
    "Wait for the next code of the authenticator app, or send a recovery code.")
MISSING_TOKEN = _row("MISSING_TOKEN", 401, "authentication", "No API token was sent.",
    "Send the header Authorization: Bearer <API_TOKEN>.")
INVALID_TOKEN = _row("INVALID_TOKEN", 401, "authentication", "The API token is malformed or unknown.",
    "Check that the whole token was copied, or create a new one.")
TOKEN_REVOKED = _row("TOKEN_REVOKED", 401, "authentication", "The API token was revoked.", "Create a new token.")
TOKEN_EXPIRED = _row("TOKEN_EXPIRED", 401, "authentication", "The API token has expired.", "Create a new token.")
# --- payment ---
SANDBOX_EXHAUSTED = _row("SANDBOX_EXHAUSTED", 402, "limits", "The sandbox token has used its 100 requests.",
    "Create a live token, or upgrade at `upgrade_url`.")
INSUFFICIENT_CREDITS = _row("INSUFFICIENT_CREDITS", 402, "ai",
    "The credit balance is below the cost of this call; nothing was charged.", "Buy credits or wait for the monthly renewal.")
# --- permission ---
MISSING_SCOPE = _row("MISSING_SCOPE", 403, "permission", "The token lacks the scope this request needs.",
    "Use a token that has `required_scope`.")
IP_NOT_ALLOWED = _row("IP_NOT_ALLOWED", 403, "permission", "This address is not in the token's IP allowlist.",
    "Call from an allowed address or change the token's allowlist.")
BRAND_NOT_AUTHORIZED = _row("BRAND_NOT_AUTHORIZED", 403, "permission", "The token may not reach this brand.",
    "Use a token that is allowed for the brand.")
COLLABORATOR_INSUFFICIENT = _row("COLLABORATOR_INSUFFICIENT", 403, "permission",
    "The collaborator who issued this token no longer has full access to the brand.", "Ask the brand's owner for a token.")
PLAN_REQUIRED = _row("PLAN_REQUIRED", 403, "ai", "This needs a higher plan; nothing was charged.",
    "Upgrade at `upgrade_url`.")
SIGNUPS_CLOSED = _row("SIGNUPS_CLOSED", 403, "permission", "This installation does not accept sign-ups.",
    "Ask the operator for an account.")
INVITE_REQUIRED = _row("INVITE_REQUIRED", 403, "permission",
    "Sign-up needs an invite for this address; there is none, or its code is wrong, used or expired.",
    "Ask the operator for an invite and send its code as `invite_code`.")
HOOK_REFUSED = _row("HOOK_REFUSED", 403, "permission", "The signature or verify token is wrong, so the call does not come from the platform.",
    "Check the app secret and the verify token in the settings.")
# --- resources ---
NOT_FOUND = _row("NOT_FOUND", 404, "resource", "There is no such resource.", "Check the id; it must belong to your account.")
METHOD_NOT_ALLOWED = _row("METHOD_NOT_ALLOWED", 405, "request", "This path does not support that method.",
    "Use one of the methods in the Allow header.")
MEDIA_IN_USE = _row("MEDIA_IN_USE", 409, "media", "The media is attached to a pending scheduled post.",
    "Cancel the post first, or wait until it is published.")
MEDIA_PROCESSING = _row("MEDIA_PROCESSING", 409, "media",
    "A file of the post is still being converted for the platform. Nothing was sent.",
    "Send the same request again after Retry-After seconds.")
PAGE_IN_USE = _row("PAGE_IN_USE", 409, "resource", "The page has queued or held posts.",
    "Cancel them first, or send ?cancel_queued=true.")
BRAND_IN_USE = _row("BRAND_IN_USE", 409, "resource", "The brand has pages.",
    "Unlink its pages with DELETE /pages/{id}, then archive the brand.")
BRAND_ARCHIVED = _row("BRAND_ARCHIVED", 409, "resource", "The brand is archived and gets no new pages.",
    "Restore it with POST /brands/{id}/restore, or name another brand.")
POST_IN_PROGRESS = _row("POST_IN_PROGRESS", 409, "resource", "The post is being sent at this moment.",
    "Wait a few seconds, then read the post again.")
EMAIL_TAKEN = _row("EMAIL_TAKEN", 409, "resource", "There is already an account with this address.", "Sign in, or use another address.")
EMAIL_NOT_VERIFIED = _row("EMAIL_NOT_VERIFIED", 409, "resource",
    "The account's e-mail address is not verified. Until then it gets no brands, tokens, roles, credits or other tier.",
    "Ask the owner to open the link in the verification mail, or verify the address with `posthaste user verify`.")
TOTP_ALREADY_ON = _row("TOTP_ALREADY_ON", 409, "resource", "The account asks for a code already.",
    "To use another authenticator app, turn it off first with POST /auth/totp/disable.")
LIMIT_REACHED = _row("LIMIT_REACHED", 409, "limits", "The account has reached its limit for this resource.",
    "Delete one first.")
IDEMPOTENCY_KEY_MISMATCH = _row("IDEMPOTENCY_KEY_MISMATCH", 409, "idempotency",
    "This Idempotency-Key was used with a different request.", "Use a new key for a new request.")
IDEMPOTENCY_IN_PROGRESS = _row("IDEMPOTENCY_IN_PROGRESS", 409, "idempotency",
    "A request with this Idempotency-Key is still running.", "Send the same request again after Retry-After seconds.")
FILE_TOO_LARGE = _row("FILE_TOO_LARGE", 413, "media", "The file is larger than your tier allows.", "Upload a smaller file or upgrade.")
QUOTA_EXCEEDED = _row("QUOTA_EXCEEDED", 413, "media", "The file would exceed your storage.", "Delete media you no longer need, or upgrade.")
PAYLOAD_TOO_LARGE = _row("PAYLOAD_TOO_LARGE", 413, "request", "The JSON body is larger than 1 MiB.", "Send a smaller body.")
UNSUPPORTED_MEDIA_TYPE = _row("UNSUPPORTED_MEDIA_TYPE", 415, "request", "This endpoint does not support the body's content type.",
    "Send Content-Type: application/json.")
# --- limits ---
RATE_LIMITED = _row("RATE_LIMITED", 429, "limits", "Too many requests in this minute.", "Wait Retry-After seconds, then repeat the request.")
DAILY_LIMIT_EXCEEDED = _row("DAILY_LIMIT_EXCEEDED", 429, "limits", "The daily request budget is used up.",
    "Wait until 00:00 UTC or upgrade.")
MONTHLY_QUOTA_EXCEEDED = _row("MONTHLY_QUOTA_EXCEEDED", 429, "limits", "This month's quota is used up.",
    "Wait until `resets_at` or upgrade.")
PAGE_PUBLISH_GUARDRAIL = _row("PAGE_PUBLISH_GUARDRAIL", 429, "limits", "The page's publish limit, which protects the connected account, is reached.",
    "Publish or schedule at `next_allowed_at` or later.")
BRAND_PUBLISH_GUARDRAIL = _row("BRAND_PUBLISH_GUARDRAIL", 429, "limits", "The brand's 24-hour publish limit is reached.",
    "Publish or schedule at `next_allowed_at` or later.")
# --- our side and the platforms' ---
SERVER_ERROR = _row("SERVER_ERROR", 500, "server", "An unexpected error occurred on our side.", "Repeat the request; a write with the same Idempotency-Key. If the error persists, report `request_id`.")
AI_GENERATION_FAILED = _row("AI_GENERATION_FAILED", 502, "ai", "The AI provider failed; the credits were refunded.", "Try again, or change the prompt.")
PLATFORM_ERROR = _row("PLATFORM_ERROR", 502, "platform", "The platform did not answer, or refused to show the data.", "Try again later.")
PLATFORM_REJECTED = _row("PLATFORM_REJECTED", 502, "platform", "The platform rejected the request.",
    "Read the platform's own error in `platform_error` (of a post: `error`). If it is temporary, try again later; else change the post.")
PLATFORM_OUTCOME_UNKNOWN = _row("PLATFORM_OUTCOME_UNKNOWN", 502, "platform",
    "The platform accepted the request but did not report its result. We are checking the result.",
    "Call GET /posts/{id} with `post_id` later, or repeat the request with the same Idempotency-Key. Do not send it with a new key: it may be published twice.")
SERVICE_UNAVAILABLE = _row("SERVICE_UNAVAILABLE", 503, "server", "A part of the service did not answer in time.",
    "Repeat the request after Retry-After seconds. Repeating a write is safe with the same Idempotency-Key.")
AI_NOT_CONFIGURED = _row("AI_NOT_CONFIGURED", 503, "ai", "No AI provider is configured.", "Ask the operator to configure one.")
# fmt: on
