"""Calls the token endpoints of RFC 6749, and tells what their errors mean."""

import base64
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from publishing.platforms.base import PlatformRefusal, Refusal
from publishing.platforms.http_client import (
    Answer,
    HttpClient,
    Response,
    retry_after,
    transient,
    unrecognised,
)
from publishing.platforms.oauth.base import Tokens

#: Errors of a token endpoint that are temporary.
_TEMPORARY = ("temporarily_unavailable", "server_error")
#: (error, description) that end a grant and all its tokens (RFC 6749 5.2); for a code: it was used or is too old.
DEAD = frozenset({("invalid_grant", None)})


@dataclass(frozen=True, slots=True)
class _Timeouts:
    """The time limits of a call to a token endpoint: short, because a person waits for a login, and a renewal is
    repeated."""

    connect_timeout_seconds: float = 5.0
    read_timeout_seconds: float = 15.0


def http_client() -> HttpClient:
    return HttpClient(_Timeouts(), pool_size=8)


def with_query(url: str, **query: str) -> str:
    return f"{url}?{urlencode({name: value for name, value in query.items() if value})}"


def post(
    client: HttpClient,
    url: str,
    form: Mapping[str, str],
    *,
    headers: Mapping[str, str] | None = None,
    dead: Collection[tuple[str, str | None]] = DEAD,
) -> Answer:
    """Posts a form and returns the answer. Raises PlatformRefusal if the answer is an error.

    `dead`: the errors, as (code, description), after which the page must be connected again, because its permission has
    ended. If the description is None, any description fits.
    """
    sent = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
    body = urlencode(form).encode()
    return body_of(client.send("POST", url, headers=sent | dict(headers or {}), body=body), dead)


def body_of(response: Response, dead: Collection[tuple[str, str | None]] = DEAD) -> Answer:
    """Returns the body of a good answer. Raises PlatformRefusal for an error, which may come with status 200. `dead`:
    see `post`."""
    body = response.body
    error = body.get("error") if isinstance(body, dict) else None
    if response.status == 429:
        wait = retry_after(response.headers)
        raise PlatformRefusal(Refusal.RATE_LIMITED, "HTTP_429", "Too many calls.", wait)
    if response.status >= 500 or not isinstance(body, dict) or (error is None and not response.is_good):
        if error is None and response.is_good:  # an empty answer is a good one
            return {}
        raise unrecognised(response, False)
    if not error:
        return body
    code, description = str(error), body.get("error_description")
    message = str(description or "The platform gave no reason.")
    if (code, None) in dead or (code, description) in dead:
        raise PlatformRefusal(Refusal.EXPIRED, code, message)
    if code in _TEMPORARY:
        raise transient(code, message)
    raise PlatformRefusal(Refusal.REJECTED, code, message)


def tokens_in(answer: Answer, separator: str = " ") -> Tokens:
    """Returns the tokens in an answer. Raises PlatformRefusal if it has no access token.

    The text with the scopes is split at `separator` and at commas.
    """
    if not answer.get("access_token"):
        raise transient("NO_TOKEN", "The platform's answer has no token.")
    lifetime, scopes = answer.get("expires_in"), answer.get("scope")
    return Tokens(
        access_token=str(answer["access_token"]),
        refresh_token=str(answer["refresh_token"]) if answer.get("refresh_token") else None,
        lifetime_seconds=float(lifetime) if isinstance(lifetime, int | float) and lifetime > 0 else None,
        scopes=tuple(scopes.replace(",", separator).split(separator)) if isinstance(scopes, str) else None,
    )


def basic(client_id: str, client_secret: str) -> dict[str, str]:
    return {"Authorization": "Basic " + base64.b64encode(f"{client_id}:{client_secret}".encode()).decode()}
