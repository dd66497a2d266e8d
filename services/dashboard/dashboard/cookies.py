"""The cookies of a browser, and the token that proves that a form came from our own page.

The sign-in cookie holds the API's session token: the API stores only its hash, lists the session and can end it. So the
dashboard needs no store and no secret of its own. Every form carries an HMAC of the session token, keyed with a second,
random cookie: another site can read neither.
"""

import hashlib
import hmac
import secrets
from typing import Any
from urllib.parse import urlsplit

from flask import Request, g, request
from werkzeug.wrappers import Response

#: As the API: a session ends 30 days after its last use.
_SIGN_IN_SECONDS = 30 * 86_400


def name_of(kind: str, is_https: bool) -> str:
    """Returns the name of a cookie. Over HTTPS it begins with `__Host-`: browsers accept it from this host alone."""
    return f"__Host-posthaste_{kind}" if is_https else f"posthaste_{kind}"


def set_cookie(response: Response, kind: str, value: str, is_https: bool) -> None:
    options: dict[str, Any] = {"httponly": True, "samesite": "Lax", "secure": is_https, "path": "/"}
    if value:
        response.set_cookie(name_of(kind, is_https), value, max_age=_SIGN_IN_SECONDS, **options)
    else:
        response.delete_cookie(name_of(kind, is_https), **options)


def load(is_https: bool) -> None:
    """Reads the cookies of the current request into `g`; makes the key of forms if there is none."""
    g.session_token = request.cookies.get(name_of("session", is_https), "")
    g.form_key = request.cookies.get(name_of("form", is_https), "")
    g.has_new_form_key = len(g.form_key) < 32
    if g.has_new_form_key:
        g.form_key = secrets.token_urlsafe(32)


def form_token(form_key: str, session_token: str) -> str:
    """Returns the token of the forms of one browser and one sign-in."""
    return hmac.new(form_key.encode(), session_token.encode(), hashlib.sha256).hexdigest()


def is_from_our_page(asked: Request, form_key: str, session_token: str) -> bool:
    """Whether a form was sent by one of our own pages in this browser and this sign-in.

    Browsers name the page's origin themselves, so a foreign one is refused whatever the form holds.
    """
    origin = asked.headers.get("Origin")
    if origin is not None and urlsplit(origin).netloc != asked.host:
        return False
    if asked.headers.get("Sec-Fetch-Site", "same-origin") not in ("same-origin", "none"):
        return False
    sent = asked.headers.get("X-Form-Token") or asked.form.get("form_token", "")
    return hmac.compare_digest(sent.encode(), form_token(form_key, session_token).encode())
