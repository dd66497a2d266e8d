"""The cookie that binds a link session to one browser: a secret, and values derived from it. Pure.

The services never get the secret, only its hash (`ConnectCookie.browser`). Over HTTPS the cookie's name begins with
`__Host-`, so that no other host of the same domain can set it (RFC 6265bis 4.1.3.2).
"""

import hashlib
import hmac
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from werkzeug.http import dump_cookie, parse_cookie

#: Ten minutes each for the platform's login and the consent, and the hour in which the result can be read again.
_LIFE_SECONDS = 600 + 600 + 3_600
_SECRET = re.compile(r"[A-Za-z0-9_-]{43}", re.ASCII)
_SESSION = re.compile(r"[a-z0-9_]{1,64}", re.ASCII)


@dataclass(frozen=True, slots=True)
class ConnectCookie:
    """The cookie of one link session. Its secret proves that the session ends in the browser in which it began."""

    session_id: str
    secret: str = field(repr=False)
    is_https: bool

    @classmethod
    def new(cls, session_id: str, *, is_https: bool) -> "ConnectCookie":
        return cls(session_id, secrets.token_urlsafe(32), is_https)

    @classmethod
    def sent(cls, environ: Mapping[str, Any], session_id: str, *, is_https: bool) -> "ConnectCookie | None":
        """Returns the cookie that a request has sent for a link session; None if there is none or it is malformed."""
        if not _SESSION.fullmatch(session_id):
            return None
        secret = parse_cookie(environ.get("HTTP_COOKIE", "")).get(_name(session_id, is_https), "")
        return cls(session_id, secret, is_https) if _SECRET.fullmatch(secret) else None

    @property
    def browser(self) -> str:
        """The key by which the service `publishing` recognizes the browser (`contracts.publishing.ViewLink`): a hash of
        session id and secret."""
        return hashlib.sha256(f"{self.session_id}:{self.secret}".encode()).hexdigest()

    @property
    def form_token(self) -> str:
        """The CSRF token of the form on our web page, derived from the secret."""
        return hmac.new(self.secret.encode(), f"form:{self.session_id}".encode(), hashlib.sha256).hexdigest()

    def is_form_token(self, given: str) -> bool:
        return hmac.compare_digest(self.form_token.encode(), given.encode("utf-8", "replace"))

    @property
    def header(self) -> str:
        """The value of Set-Cookie. `Lax` lets the cookie be sent when the platform redirects the browser to us."""
        return dump_cookie(
            _name(self.session_id, self.is_https), self.secret, max_age=_LIFE_SECONDS, path="/",
            secure=self.is_https, httponly=True, samesite="Lax",
        )  # fmt: skip


def _name(session_id: str, is_https: bool) -> str:
    return f"{'__Host-' if is_https else ''}connect-{session_id}"
