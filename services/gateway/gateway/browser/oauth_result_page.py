"""The web pages that a person sees while linking pages by OAuth, from the first question to the result. Pure."""

import re
from dataclasses import replace

from contracts.errors import NOT_FOUND, ApiError
from contracts.platforms import PLATFORMS
from contracts.publishing import LinkableAccount, LinkPageView
from gateway.browser.page import BrowserPage, Form, Link
from gateway.http.answers import Answer

#: Accounts that a sentence names, so that it stays readable; the others are counted.
_MAX_NAMES = 5
#: Characters that change the text direction: a name must not alter how the sentence around it reads.
_BIDI_CONTROLS = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def of_session(view: LinkPageView, form_token: str) -> Answer:
    """Returns the web page with the present state of a link session, for the person who links the pages in this
    browser.
    """
    page = _page_of(view, PLATFORMS[view.platform].title, form_token)
    if view.return_url is not None:
        page = replace(page, link=Link(view.return_url, "Back to your app"), moves_to=view.return_url)
    return page.answer()


def of_error(error: ApiError) -> Answer:
    """Returns the web page for an unknown link session, for one that another browser began, or for a service that does
    not answer.
    """
    if error.extras.get("reason") == "other_browser":
        texts = (
            "This login was started in another browser, or by somebody else. Nothing was linked.",
            "If you started it, open the address from your app again and stay in one browser, with cookies allowed. "
            "If somebody sent you here, close this window and remove the app in the settings of your account at "
            "the platform.",
        )
        return _text_page(403, "failed", "Nothing was linked", *texts)
    if error.row is NOT_FOUND:
        text = "This link is invalid, already used or older than ten minutes. Start again in your app."
        return _text_page(400, "failed", "Nothing was linked", text)
    text = "This could not be finished now. Reload this page in a moment."
    return _text_page(error.row.http_status, "failed", "Nothing was linked yet", text)


def of_forgery() -> Answer:
    """Returns the web page for a decision that was not sent from our own form."""
    text = "This page was out of date. Go back, reload it, and press the button again."
    return _text_page(403, "failed", "Nothing was linked", text)


def _page_of(view: LinkPageView, name: str, form_token: str) -> BrowserPage:
    if view.status == "start":
        return _start(view, name)
    if view.status == "confirm":
        return _confirm(view, name, form_token)
    if view.status == "linked":
        verb = "works" if len(view.accounts) == 1 else "work"
        text = f"{_names(view)} {verb} again for {_brand(view)}. You can close this window. {_undo(name)}"
        return _plain(200, "linked", f"{name} is linked", text)
    if view.status == "choose":
        text = (
            f"{_brand(view, first=True)} may now use {_names(view)}. Go back to your app and choose what to link; "
            f"you can close this window. {_undo(name)}"
        )
        return _plain(200, "choose", f"{name} allowed access", text)
    if view.status == "refused":
        text = "You did not give permission, so nothing was linked. You can close this window and try again."
        return _plain(200, "refused", f"{name} was not linked", text)
    if view.status == "wait":
        text = "This is still in progress. Reload this page in a moment."
        return _plain(200, "pending", "One moment", text)
    reason = f"{view.error.message} ({view.error.code})" if view.error else "The reason is not known."
    text = f"{reason} You can close this window and try again."
    return _plain(400, "failed", f"{name} was not linked", text)


def _start(view: LinkPageView, name: str) -> BrowserPage:
    who = _account(view)
    return BrowserPage(
        status=200,
        outcome="start",
        title=f"Link {name} to {_brand(view)}?",
        texts=(
            f"{who} asks for access to your pages at {name}, for {_brand(view)}.",
            f"{name} asks you to log in and to allow access. Then you see the pages found. Nothing is linked "
            "before you agree to that list.",
            f"Continue only if you know {who}. If somebody you do not know sent you here, close this window.",
        ),
        link=Link(view.authorize_url or "", f"Continue to {name}"),
    )


def _confirm(view: LinkPageView, name: str, form_token: str) -> BrowserPage:
    brand = _clean(view.brand_name) or "the brand"
    return BrowserPage(
        status=200,
        outcome="confirm",
        title=f"Give {_brand(view)} access?",
        texts=(
            f"{name} allowed access. These pages were found:",
            f"If you agree, {_account(view)} can link them to {_brand(view)}, publish in their name, and read and "
            "answer their comments.",
            "Nothing is linked yet. If you do not know who that is, cancel, and remove the app in the settings of "
            f"your {name} account.",
        ),
        items=tuple(_listed(account) for account in view.accounts),
        form=Form(
            {"form_token": form_token},
            (
                ("decision", "give", f"Give {brand} access to these pages"),
                ("decision", "cancel", "Cancel"),
            ),
        ),
    )


def _listed(account: LinkableAccount) -> str:
    name = _clean(account.name)
    return f"{name} (@{_clean(account.username)})" if account.username else name


def _names(view: LinkPageView) -> str:
    names = [_clean(account.name) for account in view.accounts]
    more = len(names) - _MAX_NAMES
    return ", ".join(names[:_MAX_NAMES]) + (f" and {more} more" if more > 0 else "")


def _brand(view: LinkPageView, *, first: bool = False) -> str:
    if view.brand_name:
        return f"{'The' if first else 'the'} brand “{_clean(view.brand_name)}”"
    return "The brand" if first else "the brand"


def _account(view: LinkPageView) -> str:
    return _clean(view.account_name) or "The account of your app"


def _undo(name: str) -> str:
    return f"If that brand is not yours, remove the app in the settings of your {name} account."


def _clean(text: str) -> str:
    return _BIDI_CONTROLS.sub("", text)


def _plain(status: int, outcome: str, title: str, *texts: str) -> BrowserPage:
    return BrowserPage(status=status, outcome=outcome, title=title, texts=texts)


def _text_page(status: int, outcome: str, title: str, *texts: str) -> Answer:
    return _plain(status, outcome, title, *texts).answer()
