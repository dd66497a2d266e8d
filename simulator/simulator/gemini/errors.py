"""Errors of Google's APIs, in Google's JSON format (google.rpc.Status)."""

from typing import Any

_SERVICE = "generativelanguage.googleapis.com"
_TYPES = "type.googleapis.com/google.rpc."
#: After how many seconds a refused caller may retry. Our choice: short, so that tests and the local stack lose little
#: time.
RETRY_SECONDS = 1

#: HTTP status → Google's name of the error.
_NAMES = {
    400: "INVALID_ARGUMENT",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
}


class GeminiError(Exception):
    """Raised to answer a call with an error of the Gemini API."""

    def __init__(self, status: int, message: str, *details: dict[str, Any]) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.details = details

    def body(self) -> dict[str, Any]:
        """Returns the JSON body of the error."""
        error: dict[str, Any] = {
            "code": self.status,
            "message": self.message,
            "status": _NAMES[self.status],
        }
        if self.details:
            error["details"] = list(self.details)
        return {"error": error}


def invalid(message: str) -> GeminiError:
    """Returns the error for an invalid request."""
    return GeminiError(400, message)


def no_key() -> GeminiError:
    """Returns the error for a call without an API key."""
    return GeminiError(
        403,
        "Method doesn't allow unregistered callers (callers without established identity). "
        "Please use API Key or other form of API consumer identity to call this API.",
    )


def wrong_key(message: str = "API key not valid. Please pass a valid API key.") -> GeminiError:
    """Returns the error for an unknown or revoked key."""
    return GeminiError(
        400,
        message,
        {
            "@type": _TYPES + "ErrorInfo", "reason": "API_KEY_INVALID", "domain": "googleapis.com",
            "metadata": {"service": _SERVICE},
        },
        {"@type": _TYPES + "LocalizedMessage", "locale": "en-US", "message": message},
    )  # fmt: skip


def unknown_model(model: str, method: str) -> GeminiError:
    """Returns the error for a model that does not exist or does not support this operation."""
    return GeminiError(
        404,
        f"models/{model} is not found for API version v1beta, or is not supported for {method}. "
        "Call ModelService.ListModels to see the list of available models and their supported methods.",
    )


def refusal(mode: str) -> GeminiError:
    """Returns Gemini's error for a planned fault of this mode (one of `faults.REFUSALS`).

    The mode `reject` gives no error when a picture is made or a film is polled. There Gemini answers with a result that
    has no content.
    """
    if mode == "expired":
        return wrong_key("API key expired. Please renew the API key.")
    if mode == "server_error":
        return GeminiError(
            500,
            "An internal error has occurred. Please retry or report in "
            "https://developers.generativeai.google/guide/troubleshooting",
        )
    if mode == "rate_limit":
        return GeminiError(
            429,
            "You exceeded your current quota, please check your plan and billing details. For more "
            "information on this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits. "
            f"Please retry in {RETRY_SECONDS}s.",
            {
                "@type": _TYPES + "QuotaFailure",
                "violations": [
                    {
                        "quotaMetric": f"{_SERVICE}/generate_content_paid_tier_requests",
                        "quotaId": "GenerateRequestsPerMinutePerProjectPerModel",
                    }
                ],
            },
            {"@type": _TYPES + "RetryInfo", "retryDelay": f"{RETRY_SECONDS}s"},
        )
    return invalid("The prompt could not be submitted. It may go against the Gemini API's usage policies.")
