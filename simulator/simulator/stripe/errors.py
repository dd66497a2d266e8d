"""Errors of the Stripe API, in its own JSON format."""

from typing import Any

from simulator.stripe.cards import Decline

_DOCS = "https://stripe.com/docs/error-codes/"


class StripeError(Exception):
    """Raised to answer a call with an error of the Stripe API. If `kept` is set, the error is stored under the
    request's idempotency key, and a repeated request gets it again.
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
    """Returns the error for an object that does not exist. `what` is the kind of the object. `status` is 404 if the
    object's id is in the path, 400 if it is in a parameter.
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
    """Returns the error for a payment whose card was declined or needs authentication."""
    more = {"decline_code": decline.decline_code} if decline.decline_code else {}
    return StripeError(
        402, decline.message, decline.code, kind="card_error", kept=True,
        charge=payment_intent["latest_charge"], payment_intent=payment_intent,
        payment_method=payment_intent["last_payment_error"]["payment_method"], **more,
    )  # fmt: skip


def refusal(mode: str, key: str) -> StripeError:
    """Returns Stripe's error for a planned fault of this mode (one of `faults.REFUSALS`)."""
    if mode == "expired":
        return StripeError(401, f"Expired API Key provided: {_masked(key)}", "api_key_expired")
    if mode == "server_error":
        message = "An unknown error occurred. Please try again later."
        return StripeError(500, message, kind="api_error", kept=True)
    if mode == "rate_limit":
        message = "Request rate limit exceeded. Learn more about rate limits here https://stripe.com/docs/rate-limits."
        return StripeError(429, message, "rate_limit")
    return StripeError(403, "The provided key does not have the required permissions for this endpoint.")
