"""The web page that the link of an invitation opens. Pure."""

from contracts.accounts import AcceptedInvitation, OpenedInvitation
from contracts.errors import (
    INVALID_CREDENTIALS,
    INVALID_LINK,
    INVALID_TOTP,
    RATE_LIMITED,
    SIGNUPS_CLOSED,
    TOTP_REQUIRED,
    VALIDATION_ERROR,
    ApiError,
)
from gateway.browser.page import BrowserPage, Form
from gateway.http.answers import Answer

_BUTTONS = (("decision", "accept", "Accept"),)
_AGAIN = Form({}, _BUTTONS, asks_for="Password, at least 8 characters")
_WITH_CODE = Form({}, _BUTTONS, asks_for="Password", asks_for_code="Code of your authenticator app")
_ROLES = {
    "full": "You can publish for the brand, connect its pages, and issue tokens for it.",
    "limited": "Your role is limited: you can write posts, answer comments and keep files.",
}


def of(opened: OpenedInvitation) -> Answer:
    """Returns the web page that names the brand and asks for the password."""
    if opened.has_account:
        asked = f"Enter the password of your account {opened.email}."
        form = _WITH_CODE if opened.has_totp else Form({}, _BUTTONS, asks_for="Password")
    else:
        asked = f"Choose a password for your new account with the address {opened.email}."
        form = Form({}, _BUTTONS, asks_for="Password, at least 8 characters", autocomplete="new-password")
    texts = (
        f"{opened.invited_by} invites you to work on the brand {opened.brand_name}.",
        f"{_ROLES.get(opened.role, '')} {asked} To refuse, close this window: the invitation expires by itself.",
    )
    return _page(200, "verify", "Work on this brand?", texts, form)


def of_accepted(accepted: AcceptedInvitation) -> Answer:
    text = (
        f"You work on the brand {accepted.brand_name} now. Sign in with {accepted.email} and your password."
    )
    return _page(200, "verified", "The invitation is accepted", (text,))


def of_error(error: ApiError) -> Answer:
    """Returns the web page that says why the invitation is not accepted, with the form if another try may succeed."""
    if error.row is INVALID_LINK:
        text = (
            "The link is incomplete, was used or withdrawn, or has expired. Ask the person who invited you."
        )
        return _page(400, "failed", "This link is invalid", (text,))
    if error.row is INVALID_CREDENTIALS:
        text = "Enter the password of the account with the address that the mail was sent to."
        return _page(400, "failed", "Wrong password", (text,), Form({}, _BUTTONS, asks_for="Password"))
    if error.row in (TOTP_REQUIRED, INVALID_TOTP):
        text = "Enter your password, and a new code of your authenticator app or a recovery code."
        return _page(400, "failed", "This code cannot be used", (text,), _WITH_CODE)
    if error.row is VALIDATION_ERROR:
        text = "Choose one of 8 to 256 characters."
        return _page(400, "failed", "This password cannot be used", (text,), _AGAIN)
    if error.row is RATE_LIMITED:
        text = "Too many passwords were tried. Open the link again tomorrow."
        return _page(429, "failed", "The invitation is not accepted", (text,))
    if error.row is SIGNUPS_CLOSED:
        text = "Nobody can make an account here. Ask the operator for one with your address, then open the link again."
        return _page(403, "failed", "The invitation is not accepted", (text,))
    text = "This could not be done now. Reload this page in a moment."
    return _page(error.row.http_status, "failed", "The invitation is not accepted yet", (text,))


def _page(status: int, outcome: str, title: str, texts: tuple[str, ...], form: Form | None = None) -> Answer:
    return BrowserPage(status=status, outcome=outcome, title=title, texts=texts, form=form).answer()
