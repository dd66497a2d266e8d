"""Describes, for `/openapi.json`, the fields that errors have besides `error`, `code` and `request_id`. Pure."""

from typing import Any, NamedTuple

from contracts.platforms import PLATFORMS

_TEXT: dict[str, Any] = {"type": "string"}
_COUNT: dict[str, Any] = {"type": "integer"}
_TIME: dict[str, Any] = {"type": "string", "format": "date-time"}
#: The address of a page; null if the installation has no such page.
_URL: dict[str, Any] = {"type": ["string", "null"]}
_TEXTS = {"type": "array", "items": _TEXT}
_BROKEN_RULE = {
    "type": "object",
    "properties": {"field": _TEXT, "message": _TEXT},
    "required": ["field", "message"],
}
_STORAGE = {
    "type": "object",
    "properties": {"used_bytes": _COUNT, "limit_bytes": _COUNT, "remaining_bytes": _COUNT},
    "required": ["used_bytes", "limit_bytes", "remaining_bytes"],
}
_PLATFORM_ERROR = {
    "type": "object",
    "properties": {"code": _TEXT, "message": _TEXT, "retryable": {"type": "boolean"}},
    "required": ["code", "message", "retryable"],
}
_GUARDRAILS = "PAGE_PUBLISH_GUARDRAIL, BRAND_PUBLISH_GUARDRAIL"


class ErrorField(NamedTuple):
    schema: dict[str, Any]
    text: str
    #: The codes whose errors have the field, separated by commas.
    codes: str

    def described(self) -> dict[str, Any]:
        return {**self.schema, "description": f"{self.text} With {self.codes}."}


ERROR_FIELDS: dict[str, ErrorField] = {
    "field": ErrorField(
        _TEXT, "The field of the request.",
        "MISSING_FIELD, INVALID_DATE, INVALID_MEDIA_URL, UNSUPPORTED_PLATFORM, PAGE_PERMISSION_MISSING, NOT_FOUND",
    ),
    "errors": ErrorField(
        {"type": "array", "items": _BROKEN_RULE}, "All broken rules.", "VALIDATION_ERROR"
    ),
    "retry_after_seconds": ErrorField(
        {"type": "number"}, "Seconds until the request can succeed.",
        f"RATE_LIMITED, DAILY_LIMIT_EXCEEDED, MONTHLY_QUOTA_EXCEEDED, {_GUARDRAILS}, IDEMPOTENCY_IN_PROGRESS, "
        "MEDIA_PROCESSING, SERVICE_UNAVAILABLE",
    ),
    "next_allowed_at": ErrorField(_TIME, "The first time that the limit allows.", _GUARDRAILS),
    "earliest": ErrorField(_TIME, "The first time that is allowed.", "SCHEDULE_OUT_OF_RANGE"),
    "latest": ErrorField(_TIME, "The last time that is allowed.", "SCHEDULE_OUT_OF_RANGE"),
    "bucket": ErrorField(_TEXT, "The counter of the month that is used up.", "MONTHLY_QUOTA_EXCEEDED"),
    "limit": ErrorField(_COUNT, "The limit that is reached.", "MONTHLY_QUOTA_EXCEEDED, LIMIT_REACHED"),
    "resets_at": ErrorField(_TIME, "When the counter begins again.", "MONTHLY_QUOTA_EXCEEDED"),
    "required_scope": ErrorField(_TEXT, "The scope that the token needs.", "MISSING_SCOPE"),
    "your_scopes": ErrorField(_TEXTS, "The scopes that the token has.", "MISSING_SCOPE"),
    "upgrade_url": ErrorField(_URL, "Where a higher plan is chosen.", "PLAN_REQUIRED, SANDBOX_EXHAUSTED"),
    "page_id": ErrorField(
        _TEXT, "The page. Of a call for several pages, also with the error of one page's content.",
        "PAGE_EXPIRED, PAGE_PERMISSION_MISSING",
    ),
    "reconnect_url": ErrorField(_URL, "Where the page is connected again.", "PAGE_EXPIRED"),
    "queued_posts": ErrorField(_COUNT, "How many posts wait on the page.", "PAGE_IN_USE"),
    "platform": ErrorField(
        {"type": "string", "enum": list(PLATFORMS)}, "The platform's code.",
        "UNSUPPORTED_PLATFORM, PLATFORM_REJECTED, PLATFORM_ERROR",
    ),
    "platform_error": ErrorField(_PLATFORM_ERROR, "The platform's own error.", "PLATFORM_REJECTED"),
    "post_id": ErrorField(
        _TEXT, "The post whose outcome is open: read it with GET /posts/{id}.",
        "PLATFORM_OUTCOME_UNKNOWN, POST_IN_PROGRESS",
    ),
    "media_id": ErrorField(_TEXT, "The file that is not ready.", "MEDIA_PROCESSING"),
    "scheduled_post_id": ErrorField(_TEXT, "A post that uses the file.", "MEDIA_IN_USE"),
    "max_file_bytes": ErrorField(_COUNT, "The size that is allowed.", "FILE_TOO_LARGE"),
    "quota": ErrorField(_STORAGE, "The account's storage.", "QUOTA_EXCEEDED"),
    "allowed": ErrorField(_TEXTS, "The types that are allowed.", "UPLOAD_ERROR"),
    "missing": ErrorField(
        {"type": "array", "items": _COUNT}, "The numbers of the parts to upload again.", "UPLOAD_ERROR"
    ),
    "reference": ErrorField(_TEXT, "The reference that cannot be used.", "INVALID_REFERENCE_MEDIA"),
    "job_id": ErrorField(_TEXT, "The job.", "AI_GENERATION_FAILED, IDEMPOTENCY_IN_PROGRESS"),
    "reason": ErrorField(
        {"type": ["string", "null"]}, "What the provider said.", "AI_GENERATION_FAILED"
    ),
    "required": ErrorField(_COUNT, "The credits that the call needs.", "INSUFFICIENT_CREDITS"),
    "available": ErrorField(_COUNT, "The account's credits: `plan_remaining` and `bonus`.", "INSUFFICIENT_CREDITS"),
    "plan_remaining": ErrorField(_COUNT, "The credits left of this month's plan.", "INSUFFICIENT_CREDITS"),
    "bonus": ErrorField(_COUNT, "The bought or granted credits.", "INSUFFICIENT_CREDITS"),
    "billing_url": ErrorField(_URL, "Where the plan is changed.", "INSUFFICIENT_CREDITS"),
    "packs_url": ErrorField(_URL, "Where credits are bought.", "INSUFFICIENT_CREDITS"),
    "auto_refill_url": ErrorField(_URL, "Where automatic purchases are set.", "INSUFFICIENT_CREDITS"),
}  # fmt: skip
