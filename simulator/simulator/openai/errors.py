"""Errors of the OpenAI API, in its own JSON format."""

from collections.abc import Mapping
from typing import Any

#: After how many seconds a refused caller may retry. Our choice: short, so that tests and the local stack lose little
#: time.
RETRY_SECONDS = 1


class OpenAIError(Exception):
    """Raised to answer a call with an error of the OpenAI API."""

    def __init__(
        self,
        status: int,
        message: str,
        code: str | None = None,
        param: str | None = None,
        *,
        kind: str = "invalid_request_error",
        more: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.error = {"message": message, "type": kind, "param": param, "code": code, **(more or {})}
        self.headers = dict(headers or {})


def missing(param: str) -> OpenAIError:
    """Returns the error for a missing field."""
    return OpenAIError(400, f"Missing required parameter: '{param}'.", "missing_required_parameter", param)


def unknown(param: str) -> OpenAIError:
    """Returns the error for an unknown field."""
    return OpenAIError(400, f"Unknown parameter: '{param}'.", "unknown_parameter", param)


def invalid(param: str, value: Any, supported: str) -> OpenAIError:
    """Returns the error for an invalid value."""
    message = f"Invalid value: '{value}'. Supported values are: {supported}."
    return OpenAIError(400, message, "invalid_value", param)


def unknown_model(model: str) -> OpenAIError:
    """Returns the error for a model that does not exist or does not support this operation."""
    message = f"The model `{model}` does not exist or you do not have access to it."
    return OpenAIError(404, message, "model_not_found", "model")


def no_key() -> OpenAIError:
    """Returns the error for a call without an API key."""
    return OpenAIError(
        401,
        "You didn't provide an API key. You need to provide your API key in an Authorization header using "
        "Bearer auth (i.e. Authorization: Bearer YOUR_KEY).",
    )


def wrong_key(key: str) -> OpenAIError:
    """Returns the error for an unknown or revoked key."""
    shown = f"{key[:8]}{'*' * 8}{key[-4:]}" if len(key) > 16 else "*" * len(key)
    return OpenAIError(401, f"Incorrect API key provided: {shown}. You can find your API key at "
                       "https://platform.openai.com/account/api-keys.", "invalid_api_key")  # fmt: skip


def unsafe(stage: str) -> OpenAIError:
    """Returns the error for a picture that the safety system refuses, because of the prompt (`stage` is "input") or of
    the finished picture ("output").
    """
    return OpenAIError(
        400,
        "Your request was rejected by the safety system. If you believe this is an error, contact us at "
        "help.openai.com and include the request ID. safety_violations=[violence].",
        "moderation_blocked",
        kind="image_generation_user_error",
        more={"moderation_details": {"moderation_stage": stage, "categories": ["violence"]}},
    )


def refusal(mode: str, operation: str, key: str) -> OpenAIError:
    """Returns OpenAI's error for a planned fault of this mode (one of `faults.REFUSALS`)."""
    if mode == "expired":
        return wrong_key(key)
    if mode == "server_error":
        message = "The server had an error while processing your request. Sorry about that!"
        return OpenAIError(500, message, kind="server_error")
    if mode == "rate_limit":
        return OpenAIError(
            429,
            f"Rate limit reached on requests per min (RPM): Limit 5, Used 5, Requested 1. Please try again in "
            f"{RETRY_SECONDS}s. Visit https://platform.openai.com/account/rate-limits to learn more.",
            "rate_limit_exceeded",
            kind="requests",
            headers={
                "retry-after": str(RETRY_SECONDS), "retry-after-ms": str(RETRY_SECONDS * 1000),
                "x-ratelimit-limit-requests": "5", "x-ratelimit-remaining-requests": "0",
                "x-ratelimit-reset-requests": f"{RETRY_SECONDS}s",
            },
        )  # fmt: skip
    if operation == "caption":
        message = "Invalid prompt: your prompt was flagged as potentially violating our usage policy."
        return OpenAIError(400, message, "invalid_prompt")
    return unsafe("output")
