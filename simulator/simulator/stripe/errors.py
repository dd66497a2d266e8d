"""Errors of the Stripe API in its own envelope."""

from typing import Any

from simulator.stripe.cards import Decline

_DOCS = "https://stripe.com/docs/error-codes/"


class StripeError(Exception):
    """Raised to answer a call with an error as Stripe sends it. `kept`: a repeated request with the same idempotency
    key gets the same error.
    """

    def __init__(
        self,
        status: int,
        message: str,
        code: str | None = None,
        param: str | None = None,
        *,
        kind: str = "invalid_request_error",
        kept: bool = False,
        **more: Any,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.kept = kept
        self.error: dict[str, Any] = {"message": message, "type": kind, **more}
        if code:
            self.error |= {"code": code, "doc_url": _DOCS + code.replace("_", "-")}
        if param:
            self.error["param"] = param


def missing(param: str) -> StripeError:
    """Returns the error for a missing parameter."""
    return StripeError(400, f"Missing required param: {param}.", "parameter_missing", param)


def unknown(param: str) -> StripeError:
    """Returns the error for an unknown parameter."""
    return StripeError(400, f"Received unknown parameter: {param}", "parameter_unknown", param)


def no_such(what: str, object_id: str, param: str, status: int = 400) -> StripeError:
    """Returns the error for an object that does not exist. Give status 404 if the path names the object, 400 if a
    parameter does.
    """
    return StripeError(status, f"No such {what}: '{object_id}'", "resource_missing", param)


def no_key() -> StripeError:
    """Returns the error for a call without an API key."""
    return StripeError(
        401,
        "You did not provide an API key. You need to provide your API key in the Authorization header, using "
        "Bearer auth (e.g. 'Authorization: Bearer YOUR_SECRET_KEY').",
    )


def _masked(key: str) -> str:
    return f"{key[:8]}{'*' * 12}{key[-4:]}" if len(key) > 16 else "*" * len(key)


def wrong_key(key: str) -> StripeError:
    """Returns the error for an unknown key."""
    return StripeError(401, f"Invalid API Key provided: {_masked(key)}")


def declined(decline: Decline, payment_intent: dict[str, Any]) -> StripeError:
    """Returns the error for a card that is declined or needs authentication. The payment stays unpaid."""
    more = {"decline_code": decline.decline_code} if decline.decline_code else {}
    return StripeError(
        402, decline.message, decline.code, kind="card_error", kept=True,
        charge=payment_intent["latest_charge"], payment_intent=payment_intent,
        payment_method=payment_intent["last_payment_error"]["payment_method"], **more,
    )  # fmt: skip


def refusal(mode: str, key: str) -> StripeError:
    """Returns the error with which Stripe refuses a call in a planned fault of this mode (one of `faults.REFUSALS`)."""
    if mode == "expired":
        return StripeError(401, f"Expired API Key provided: {_masked(key)}", "api_key_expired")
    if mode == "server_error":
        message = "An unknown error occurred. Please try again later."
        return StripeError(500, message, kind="api_error", kept=True)
    if mode == "rate_limit":
        message = "Request rate limit exceeded. Learn more about rate limits here https://stripe.com/docs/rate-limits."
        return StripeError(429, message, "rate_limit")
    return StripeError(403, "The provided key does not have the required permissions for this endpoint.")
