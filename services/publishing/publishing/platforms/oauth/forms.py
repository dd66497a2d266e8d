"""Token endpoints as the standard has them (RFC 6749): forms, their errors as tables; and PKCE's challenges."""

import base64
import hashlib
from collections.abc import Collection, Mapping
from typing import Any
from urllib.parse import urlencode

from publishing.platforms.base import PlatformRefusal, Refusal
from publishing.platforms.oauth.base import Tokens
from publishing.platforms.wire import Reply, Wire, retry_after, strange, transient

Answer = dict[str, Any]

#: A token endpoint's own words for "not now".
_NOT_NOW = ("temporarily_unavailable", "server_error")
#: The grant, and with it every token, is over (RFC 6749 5.2); of a code: it was used, or is too old.
DEAD = frozenset({("invalid_grant", None)})
#: Quick or not at all. Our choice.
_CONNECT_SECONDS, _READ_SECONDS = 5.0, 15.0


def wire() -> Wire:
    return Wire(connect_timeout_seconds=_CONNECT_SECONDS, read_timeout_seconds=_READ_SECONDS, pool_size=8)


def with_query(url: str, **query: str) -> str:
    return f"{url}?{urlencode({name: value for name, value in query.items() if value})}"


def post(
    through: Wire,
    url: str,
    form: Mapping[str, str],
    *,
    headers: Mapping[str, str] | None = None,
    dead: Collection[tuple[str, str | None]] = DEAD,
) -> Answer:
    """The answer to a form. `dead`: errors, with their description where it matters, that end a grant for good."""
    described = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
    body = urlencode(form).encode()
    return judged(through.send("POST", url, headers=described | dict(headers or {}), body=body), dead)


def judged(reply: Reply, dead: Collection[tuple[str, str | None]] = DEAD) -> Answer:
    """The body of a good answer. An error may come with any status, 200 among them. Raises PlatformRefusal."""
    body = reply.body
    error = body.get("error") if isinstance(body, dict) else None
    if reply.status == 429:
        raise PlatformRefusal(Refusal.RATE_LIMITED, "HTTP_429", "Too many calls.", retry_after(reply.headers))
    if reply.status >= 500 or not isinstance(body, dict) or (error is None and not reply.is_good):
        if error is None and reply.is_good:  # an empty answer is one
            return {}
        raise strange(reply, False)
    if not error:
        return body
    code, description = str(error), body.get("error_description")
    message = str(description or "The platform gave no reason.")
    if (code, None) in dead or (code, description) in dead:
        raise PlatformRefusal(Refusal.EXPIRED, code, message)
    if code in _NOT_NOW:
        raise transient(code, message)
    raise PlatformRefusal(Refusal.REJECTED, code, message)


def tokens_in(answer: Answer, separator: str = " ") -> Tokens:
    """Raises PlatformRefusal when there is no token in it."""
    if not answer.get("access_token"):
        raise transient("NO_TOKEN", "The platform's answer has no token.")
    lifetime, scopes = answer.get("expires_in"), answer.get("scope")
    return Tokens(
        access_token=str(answer["access_token"]),
        refresh_token=str(answer["refresh_token"]) if answer.get("refresh_token") else None,
        lifetime_seconds=float(lifetime) if isinstance(lifetime, int | float) and lifetime > 0 else None,
        scopes=tuple(scopes.replace(",", separator).split(separator)) if isinstance(scopes, str) else None,
    )


def s256(verifier: str) -> str:
    """RFC 7636."""
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode("ascii")).digest()).rstrip(b"=").decode()


def s256_hex(verifier: str) -> str:
    """TikTok's own spelling of the same (platforms.md 5)."""
    return hashlib.sha256(verifier.encode("ascii")).hexdigest()


def basic(client_id: str, client_secret: str) -> dict[str, str]:
    return {"Authorization": "Basic " + base64.b64encode(f"{client_id}:{client_secret}".encode()).decode()}
