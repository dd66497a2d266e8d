"""The page on which linking ends in a browser: plain, for people, with nothing in it that is loaded or run. Pure."""

import base64
import hashlib
from html import escape

from contracts.errors import NOT_FOUND, ApiError
from contracts.platforms import PLATFORMS
from contracts.publishing import LinkSession
from gateway.answers import Answer

_STYLE = (
    ":root{color-scheme:light dark}body{font:1.1rem/1.5 system-ui,sans-serif;margin:18vh auto;max-width:36rem;"
    "padding:0 1rem}main{border-left:.3rem solid #888;padding:.2rem 0 .2rem 1.4rem;overflow-wrap:anywhere}"
    "main[data-outcome=linked],main[data-outcome=choose]{border-color:#2a7d46}"
    "main[data-outcome=failed]{border-color:#b3372f}h1{font-size:1.5rem;margin:0 0 .4rem}p{margin:0}"
)
_STYLE_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_PAGE = (
    '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
    '<meta name="viewport" content="width=device-width"><style>{style}</style></head>'
    '<body><main data-outcome="{outcome}"><h1>{title}</h1><p>{text}</p></main></body></html>'
)
_HEADERS = {
    "Cache-Control": "no-store",
    # The address of this page holds the platform's code.
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Content-Security-Policy": f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'",
}
#: Of accounts, that are told one by one. Our choice.
_MOST_NAMES = 5


def of_session(session: LinkSession) -> Answer:
    """What came of the login."""
    name = PLATFORMS[session.platform].title
    if session.status == "linked":
        verb = "works" if len(session.accounts) == 1 else "work"
        text = (
            f"{_names(session)} {verb} again for {_brand(session)}. You can close this window. {_undo(name)}"
        )
        return _page(200, "linked", f"{name} is linked", text)
    if session.status == "choose":
        text = (
            f"Found: {_names(session)}. Go back to your app and choose what to link to {_brand(session)}; "
            f"you can close this window. {_undo(name)}"
        )
        return _page(200, "choose", f"{name} let you in", text)
    if session.status == "refused":
        text = (
            "You did not give the permission, so nothing was linked. You can close this window and try again."
        )
        return _page(200, "refused", f"{name} was not linked", text)
    if session.status == "pending":
        text = "It is still being worked on. Load this page again in a moment."
        return _page(200, "pending", "One moment", text)
    reason = (
        f"{session.error.message} ({session.error.code})" if session.error else "The reason is not known."
    )
    return _page(
        400, "failed", f"{name} was not linked", f"{reason} You can close this window and try again."
    )


def of_error(error: ApiError) -> Answer:
    """A return that belongs to no linking, or could not be looked at now."""
    if error.row is NOT_FOUND:
        text = "This link is not ours, was used up or is older than ten minutes. Begin again in your app."
        return _page(400, "failed", "Nothing was linked", text)
    text = "It could not be finished just now. Load this page again in a moment."
    return _page(error.row.http_status, "failed", "Nothing was linked yet", text)


def _names(session: LinkSession) -> str:
    names = [account.name for account in session.accounts]
    more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def _brand(session: LinkSession) -> str:
    return f"the brand “{session.brand_name}”" if session.brand_name else "your brand"


def _undo(name: str) -> str:
    """For who was sent to the login by a stranger: whoever began it now holds the permission."""
    return f"If that brand is not yours, remove the app in the settings of your {name} account."


def _page(status: int, outcome: str, title: str, text: str) -> Answer:
    body = _PAGE.format(style=_STYLE, title=escape(title), text=escape(text), outcome=outcome)
    return Answer(status, body.encode("utf-8", "replace"), dict(_HEADERS), "text/html; charset=utf-8")
