"""The code that the sync and the async client share. It does no I/O: its generators yield each request and each pause.

The client runs a generator: it sends each yielded `Send` and passes back an `Answer` or a `Failure`; for a `Wait` it
sleeps. The generator returns the result of the call.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar
from urllib.parse import quote, urlencode

from posthaste.encoding import UNSET, decode, encode, encode_query
from posthaste.errors import NoAnswer, PosthasteError, UnexpectedAnswer, api_error
from posthaste.retries import Answer, Failure, RetryPolicy, pause_before_retry, retry_after_seconds

__version__ = "1.0.0b2"

BASE_PATH = "/api/v1"
#: Longer than the longest call of the API: a file that is uploaded in parts is checked for up to 120 s.
TIMEOUT_SECONDS = 130.0

T = TypeVar("T")


class Content(Protocol):
    """A body that is sent while it is read. Each try reads it again from its beginning."""

    @property
    def size_bytes(self) -> int: ...
    @property
    def content_type(self) -> str: ...
    def blocks(self) -> Iterable[bytes]: ...


@dataclass(frozen=True)
class Call(Generic[T]):
    """One operation of the API with its arguments. `path` begins at the server's root."""

    method: str
    path: str
    result: type[T]
    query: Mapping[str, Any] = field(default_factory=dict)
    #: Fields of the JSON body; None: the operation takes none.
    body: Mapping[str, Any] | None = None
    #: Whether it takes an Idempotency-Key.
    keyed: bool = False
    idempotency_key: str | None = None
    authenticated: bool = True
    content: Content | None = None


@dataclass(frozen=True)
class Send:
    """A request to send."""

    method: str
    url: str
    headers: dict[str, str]
    content: bytes | Content | None


@dataclass(frozen=True)
class Wait:
    """A pause before the next request."""

    seconds: float


#: A generator of requests and pauses, driven by a client.
Flow = Generator["Send | Wait", "Answer | Failure | None", T]


@dataclass(frozen=True)
class Settings:
    """The settings that all calls of a client share."""

    root_url: str
    token: str | None = field(repr=False)
    timeout_seconds: float
    retries: RetryPolicy


def root_of(base_url: str) -> str:
    """Returns `base_url` without the path of the API and without a slash at the end."""
    return base_url.rstrip("/").removesuffix(BASE_PATH)


def settings_of(
    token: str | None, base_url: str | None, timeout_seconds: float, retries: RetryPolicy | None
) -> Settings:
    """Returns the settings of a client. Reads a missing token or base_url from the environment variable POSTHASTE_TOKEN
    or POSTHASTE_URL. Raises PosthasteError if there is no base_url, or if it is not an http(s) address.
    """
    url = base_url or os.environ.get("POSTHASTE_URL", "")
    if not url.startswith(("http://", "https://")):
        raise PosthasteError(
            "Pass base_url, such as https://posthaste.example.com, or set POSTHASTE_URL"
            + (f"; {url!r} is no http(s) address" if url else "")
        )
    return Settings(
        root_url=root_of(url),
        token=token or os.environ.get("POSTHASTE_TOKEN") or None,
        timeout_seconds=timeout_seconds,
        retries=retries or RetryPolicy(),
    )


def exchange(call: Call[T], settings: Settings) -> Flow[T]:
    """Sends a call, and repeats it as the client's `RetryPolicy` permits. Returns the result.

    Raises NoAnswer if no answer came, ApiError if the server refuses the call, UnexpectedAnswer for an answer that the
    API does not document, and ValueError for an argument that cannot be sent.
    """
    key = (call.idempotency_key or uuid.uuid4().hex) if call.keyed else None
    _check_key(key)
    request = _request(call, settings, key)
    repeatable = call.method == "GET" or key is not None
    answer = yield from send(request, settings.retries, repeatable=repeatable, key=key)
    if answer.status >= 300:
        raise api_error(
            answer.status,
            error_body(answer) or {},
            retry_after_seconds=retry_after_seconds(answer),
            idempotency_key=key,
        )
    try:
        return decode(call.result, json.loads(answer.content))
    except ValueError:
        raise UnexpectedAnswer("The answer is not JSON: is base_url a Posthaste server?") from None


def _check_key(key: str | None) -> None:
    """Raises the ApiError INVALID_IDEMPOTENCY_KEY for a key with characters that an HTTP header cannot contain."""
    if key is not None and not (key.isascii() and key.isprintable()):
        text = "The idempotency key must be printable ASCII characters."
        body = {"code": "INVALID_IDEMPOTENCY_KEY", "error": text}
        raise api_error(400, body, retry_after_seconds=None, idempotency_key=key)


def send(request: Send, retries: RetryPolicy, *, repeatable: bool, key: str | None = None) -> Flow[Answer]:
    """Sends a request, and repeats it as `retries` permits. Returns the last answer, whatever its status. Raises
    NoAnswer if the last try got no answer.
    """
    tries = 0
    while True:
        outcome = yield request
        assert outcome is not None
        body = error_body(outcome) if isinstance(outcome, Answer) else None
        pause = None
        if isinstance(outcome, Failure) or outcome.status >= 300:
            pause = pause_before_retry(retries, tries, outcome, body, repeatable=repeatable)
        if pause is None:
            break
        yield Wait(pause)
        tries += 1
    if isinstance(outcome, Failure):
        raise NoAnswer(f"{outcome.reason} (tried {tries + 1} times)", idempotency_key=key)
    return outcome


def error_body(answer: Answer) -> dict[str, Any] | None:
    """Returns the API's error in an answer. None if the answer has none, for example if it is a proxy's page."""
    if answer.status < 300:
        return None
    try:
        body = json.loads(answer.content)
    except ValueError:
        return None
    return body if isinstance(body, dict) and isinstance(body.get("code"), str) else None


def path_of(template: str, **names: str) -> str:
    """Fills the placeholders of a path.

    Raises ValueError for an empty id, and for the ids `.` and `..`: a URL would drop them, and the path would name
    another resource.
    """
    for name, value in names.items():
        if not isinstance(value, str) or not value:
            raise ValueError(f"{name} is empty")
        if value in (".", ".."):
            raise ValueError(f"{name} is not an id: {value}")
    return template.format(**{name: quote(value, safe="") for name, value in names.items()})


def _request(call: Call[Any], settings: Settings, key: str | None) -> Send:
    headers = {"Accept": "application/json", "User-Agent": f"posthaste-python/{__version__}"}
    if call.authenticated:
        if settings.token is None:
            raise PosthasteError("This call needs a token: pass token, or set POSTHASTE_TOKEN")
        headers["Authorization"] = f"Bearer {settings.token}"
    if key is not None:
        headers["Idempotency-Key"] = key
    content: bytes | Content | None = call.content
    if call.body is not None:
        content = json.dumps(encode(call.body)).encode()
        headers["Content-Type"] = "application/json"
    query = {
        name: encode_query(value)
        for name, value in call.query.items()
        if value is not None and value is not UNSET
    }
    url = settings.root_url + call.path + ("?" + urlencode(query) if query else "")
    return Send(call.method, url, headers, content)
