"""The web page that a reset link opens. Pure."""

from contracts.accounts import PasswordReset
from contracts.errors import INVALID_LINK, VALIDATION_ERROR, ApiError
from gateway.browser.page import Form, text_page
from gateway.http.answers import Answer

_FORM = Form(
    {},
    (("decision", "reset", "Set the password"),),
    asks_for="New password, at least 8 characters",
    autocomplete="new-password",
)


def of(reset: PasswordReset) -> Answer:
    """Returns the web page that asks for the new password."""
    text = f"It replaces the password of {reset.email}. All devices are signed out."
    return text_page(200, "verify", "Choose a new password", text, _FORM)


def of_reset(reset: PasswordReset) -> Answer:
    text = f"The password of {reset.email} is changed, and all devices are signed out. You can close this window."
    return text_page(200, "verified", "Your password is changed", text)


def of_error(error: ApiError) -> Answer:
    """Returns the web page that says why the password is not changed, with the form if another try may succeed."""
    if error.row is INVALID_LINK:
        text = "The link is incomplete, was used before, or has expired. Ask for a new one."
        return text_page(400, "failed", "This link is invalid", text)
    if error.row is VALIDATION_ERROR:
        return text_page(
            400, "failed", "This password cannot be used", "Choose one of 8 to 256 characters.", _FORM
        )
    text = "This could not be done now. Reload this page in a moment."
    return text_page(error.row.http_status, "failed", "Your password is not changed yet", text)
