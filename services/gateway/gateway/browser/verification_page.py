"""The web page that the link in a verification mail opens. Pure."""

from contracts.accounts import Verification
from contracts.errors import NOT_FOUND, RATE_LIMITED, VALIDATION_ERROR, ApiError
from gateway.browser.page import BrowserPage, Form, text_page
from gateway.http.answers import Answer

_FORM = Form(
    {},
    (("decision", "confirm", "Confirm the address"), ("decision", "delete", "I did not sign up: delete it")),
    asks_for="Password that you chose at sign-up",
)


def of(verification: Verification) -> Answer:
    """Returns the web page that asks for the password, or says that the address is confirmed."""
    if verification.verified:
        # Not which one: the account may have another address since, which the reader of this mailbox must not learn.
        return text_page(200, "verified", "Your address is confirmed", "You can close this window.")
    page = BrowserPage(
        status=200,
        outcome="verify",
        title="Confirm your e-mail address?",
        texts=(
            f"Somebody signed up for an account with {verification.email}.",
            "If it was you, enter the password that you chose then. If it was not you, delete the account: nothing is "
            "lost.",
        ),
        form=_FORM,
    )
    return page.answer()


def of_refused(verification: Verification) -> Answer:
    """Returns the web page shown after the owner of the mailbox has said that somebody else signed up."""
    if verification.verified:
        text = "The address was confirmed before, so the account was not deleted. Write to the operator."
        return text_page(400, "failed", "The account is still there", text)
    text = f"The account with {verification.email} is deleted. You can close this window."
    return text_page(200, "deleted", "The account is deleted", text)


def of_error(error: ApiError) -> Answer:
    """Returns the web page that says why the address is not confirmed, with the form if another try may succeed."""
    if error.row is NOT_FOUND:
        text = "The link is incomplete, or the account was deleted. Copy the whole link from the mail or sign up again."
        return text_page(404, "failed", "This link is invalid", text)
    if error.row is VALIDATION_ERROR:
        page = BrowserPage(
            status=400,
            outcome="failed",
            title="Wrong password",
            texts=(
                "Enter the password that you chose at sign-up. If you did not sign up, delete the account: nothing is "
                "lost.",
            ),
            form=_FORM,
        )
        return page.answer()
    if error.row is RATE_LIMITED:
        text = (
            "Too many passwords were tried. Open the link again tomorrow, or ask the operator to confirm it."
        )
        return text_page(429, "failed", "Your address is not confirmed", text)
    text = "This could not be done now. Reload this page in a moment."
    return text_page(error.row.http_status, "failed", "Your address is not confirmed yet", text)
