"""The cookies of a browser, and the token that proves that a form came from our own screens.

There are six cookies. The first holds the API's session token. The API stores only the token's hash, lists the session
and can end it. So the dashboard needs no store and no secret of its own. The second holds the token of a brand session,
while the person works on somebody else's brand. The third holds the time zone and the language of the person's dates.
The fourth holds a random key. Every form carries an HMAC of the session token, made with this key. Another site can
read neither the session token nor the key. The fifth lasts some minutes, and proves which linkings of pages were begun
in this browser. The sixth holds a hash that names the person. Scripts keep what a person types, and give it back only
to the same person.
"""

import base64
import hashlib
import hmac
import json
import secrets
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import urlsplit

from flask import Request, g, request
from werkzeug.wrappers import Response

from dashboard.dates import Dates

#: As the API: a session ends 30 days after its last use.
_SIGN_IN_SECONDS = 30 * 86_400
#: As the API: ten minutes to come back from the platform, ten to agree, and an hour to choose what to connect.
_LINKING_SECONDS = 600 + 600 + 3_600
#: Linkings that a browser may have begun at the same time, in several tabs: their proofs make a cookie of 259 bytes.
_MOST_LINKINGS = 4
#: Of an HMAC with SHA-256 as hexadecimal text.
_PROOF_CHARACTERS = 64
#: 128 bits: no two people have the same mark.
_MARK_CHARACTERS = 32


#: Scopes that `*` does not include.
_OWNERS = ("manage:account", "manage:brands", "manage:tokens")


@dataclass(frozen=True)
class SharedWork:
    """The brand of somebody else on which the person works now: the content of a cookie.

    Only the token gives access: the API checks each call. The other fields only decide what the screens offer.
    """

    token: str
    brand_id: str
    brand_name: str
    owner: str
    role: str
    scopes: list[str]

    def may(self, scope: str) -> bool:
        """Whether the person's role on the brand permits this scope. False for every scope that manages the account:
        only the account's owner has these.
        """
        return scope not in _OWNERS and (scope in self.scopes or "*" in self.scopes)

    def packed(self) -> str:
        return base64.urlsafe_b64encode(json.dumps(list(asdict(self).values())).encode()).decode()

    @staticmethod
    def read(packed: str) -> "SharedWork | None":
        """Parses the content of a cookie; None for one that we did not write."""
        try:
            found = SharedWork(*json.loads(base64.urlsafe_b64decode(packed)))
        except (ValueError, TypeError, RecursionError):
            return None
        texts = list(asdict(found).values())
        scopes = texts.pop()
        is_ours = isinstance(scopes, list) and all(isinstance(it, str) for it in (*texts, *scopes))
        return found if is_ours and _sendable(found.token) else None


def name_of(kind: str, is_https: bool) -> str:
    """Returns the name of a cookie. Over HTTPS it begins with `__Host-`: browsers accept it from this host alone."""
    return f"__Host-posthaste_{kind}" if is_https else f"posthaste_{kind}"


def set_cookie(
    response: Response, kind: str, value: str, is_https: bool, seconds: int = _SIGN_IN_SECONDS
) -> None:
    options: dict[str, Any] = {"httponly": True, "samesite": "Lax", "secure": is_https, "path": "/"}
    if value:
        response.set_cookie(name_of(kind, is_https), value, max_age=seconds, **options)
    else:
        response.delete_cookie(name_of(kind, is_https), **options)


def sign_out(response: Response, is_https: bool) -> None:
    """Removes the cookies of the session, the brand session, the dates and the person from the browser."""
    for kind in ("session", "brand", "dates", "person"):
        set_cookie(response, kind, "", is_https)


def load(is_https: bool) -> None:
    """Reads the cookies of the current request into `g`. If the browser has no key for its forms yet, makes one."""
    g.session_token = _sendable(request.cookies.get(name_of("session", is_https), ""))
    packed = request.cookies.get(name_of("brand", is_https), "") if g.session_token else ""
    g.shared_work = SharedWork.read(packed)
    #: What the person works with: their own session, or the one on somebody else's brand.
    g.acting_token = g.shared_work.token if g.shared_work else g.session_token
    g.person = request.cookies.get(name_of("person", is_https), "") if g.session_token else ""
    g.dates = Dates.read(request.cookies.get(name_of("dates", is_https), ""))
    g.form_key = request.cookies.get(name_of("form", is_https), "")
    g.has_new_form_key = len(g.form_key) < 32
    if g.has_new_form_key:
        g.form_key = secrets.token_urlsafe(32)


def _sendable(token: str) -> str:
    """Returns a token from a cookie; empty if no header can carry it, because then the cookie is not ours."""
    return token if token.isascii() and token.isprintable() else ""


def remember_person(email: str) -> None:
    """Notes who the person is, in `g` and in a cookie of the current answer: as a hash of the e-mail address.

    The hash is the same in each session of the person. It gives no access.
    """
    g.person = hashlib.sha256(f"person {email.strip().lower()}".encode()).hexdigest()[:_MARK_CHARACTERS]
    g.has_new_person = True


def form_token(form_key: str, session_token: str) -> str:
    """Returns the token that each form carries: it proves that the form comes from this browser and this sign-in."""
    return hmac.new(form_key.encode(), session_token.encode(), hashlib.sha256).hexdigest()


def linking_proof(form_key: str, session_id: str) -> str:
    """Returns the proof that the link session with this id was begun in the browser that has this key."""
    return hmac.new(form_key.encode(), f"linking {session_id}".encode(), hashlib.sha256).hexdigest()


def begin_linking(response: Response, session_id: str, is_https: bool) -> None:
    """Notes in a cookie of `response` that the current request has begun this link session in this browser."""
    begun = [*_linkings(is_https), linking_proof(g.form_key, session_id)][-_MOST_LINKINGS:]
    set_cookie(response, "linking", ".".join(begun), is_https, _LINKING_SECONDS)


def is_linking_of_this_browser(session_id: str, is_https: bool) -> bool:
    """Whether the link session was begun in this browser. If it was, a cookie of the browser holds the proof."""
    proof = linking_proof(g.form_key, session_id)
    return any(hmac.compare_digest(it.encode(), proof.encode()) for it in _linkings(is_https))


def _linkings(is_https: bool) -> list[str]:
    """Returns the proofs of the link sessions that were begun in this browser, oldest first."""
    kept = request.cookies.get(name_of("linking", is_https), "").split(".")
    return [it for it in kept if len(it) == _PROOF_CHARACTERS][-_MOST_LINKINGS:]


def is_from_our_page(asked: Request, form_key: str, session_token: str) -> bool:
    """Whether a form was sent from one of our own screens, in this browser and during this sign-in.

    Browsers name the origin of a form. A form from another site is therefore refused, whatever it contains.
    """
    origin = asked.headers.get("Origin")
    if origin is not None and urlsplit(origin).netloc != asked.host:
        return False
    if asked.headers.get("Sec-Fetch-Site", "same-origin") not in ("same-origin", "none"):
        return False
    sent = asked.headers.get("X-Form-Token") or asked.form.get("form_token", "")
    return hmac.compare_digest(sent.encode(), form_token(form_key, session_token).encode())
