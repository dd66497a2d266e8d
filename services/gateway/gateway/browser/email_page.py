"""The web page that confirms another e-mail address of an account. Pure."""

from contracts.accounts import EmailChange
from contracts.errors import EMAIL_TAKEN, INVALID_LINK, RATE_LIMITED, VALIDATION_ERROR, ApiError
from gateway.browser.page import Form, text_page
from gateway.http.answers import Answer

_FORM = Form({}, (("decision", "confirm", "Use this address"),), asks_for="Password of your account")


def of(change: EmailChange) -> Answer:
    """Returns the web page that asks for the password before the address is changed."""
    text = (
        f"You sign in with {change.email} from then on. If you did not ask for this, close this window: the address is "
        "not used."
    )
    return text_page(200, "verify", "Use this address for your account?", text, _FORM)


def of_confirmed(change: EmailChange) -> Answer:
    text = f"You sign in with {change.email} from now on. You can close this window."
    return text_page(200, "verified", "Your address is changed", text)


def of_error(error: ApiError) -> Answer:
    """Returns the web page that says why the address is not changed, with the form if another try may succeed."""
    if error.row is INVALID_LINK:
        text = "The link is incomplete, was used before, or has expired. Ask for a new one in your account."
        return text_page(400, "failed", "This link is invalid", text)
    if error.row is VALIDATION_ERROR:
        text = "Enter the password of the account whose address you want to change."
        return text_page(400, "failed", "Wrong password", text, _FORM)
    if error.row is EMAIL_TAKEN:
        text = "There is another account with this address. Sign in to that one, or use another address."
        return text_page(409, "failed", "Your address is not changed", text)
    if error.row is RATE_LIMITED:
        text = "Too many passwords were tried. Ask for a new link in your account."
        return text_page(429, "failed", "Your address is not changed", text)
    text = "This could not be done now. Reload this page in a moment."
    return text_page(error.row.http_status, "failed", "Your address is not changed yet", text)
