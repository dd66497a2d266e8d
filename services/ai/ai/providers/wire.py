"""Calls to a provider's API: one pool of connections, a deadline for everything together, retries it asks for itself.

What an answer means is the provider's module.
"""

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar
from urllib.parse import urljoin, urlsplit

import msgspec
import structlog
import urllib3
from urllib3.exceptions import HTTPError

from ai.providers.base import Clip, GenerationFailed
from chassis.http.outbound import Limits, Outbound
from chassis.service import offload
from chassis.telemetry import tracing

T = TypeVar("T")
log = structlog.get_logger()

#: Our choice, all below.
_POOL_SIZE = 64
#: A provider may think about a picture as long as its call's deadline allows.
_LIMITS = Limits(connect_seconds=5.0, silence_seconds=math.inf)
_CHUNK_BYTES = 256 * 1024
#: The largest answer: a picture of 20 MB in base64, and some words.
MAX_ANSWER_BYTES = 28 * 2**20
#: From here on reading an answer takes long enough to be done beside the event loop.
_LARGE_BYTES = 64 * 1024
_MOST_TRIES = 3
#: A 503 that does not say when to come again.
_BUSY_SECONDS = 1.0
_MOST_REDIRECTS = 3
_REDIRECTS = (301, 302, 303, 307, 308)

#: (status, body) -> what it means; `wait_seconds` where the body says when to come again.
Explain = Callable[[int, bytes], GenerationFailed]


class Wire:
    """One API behind one base address."""

    def __init__(self, base_url: str, headers: Mapping[str, str], explain: Explain) -> None:
        self.base_url = base_url.rstrip("/")
        self._headers = dict(headers)
        self._explain = explain
        self._pool = Outbound(_LIMITS, connections=_POOL_SIZE)

    def post(
        self,
        path: str,
        body: bytes,
        answer: type[T],
        *,
        deadline: float,
        content_type: str = "application/json",
    ) -> T:
        """Asks for something to be made. Sent again only when the provider says when: 429 with a time, 503."""
        for tries_left in range(_MOST_TRIES - 1, -1, -1):
            try:
                return self._ask("POST", path, answer, deadline, body, {"Content-Type": content_type})
            except GenerationFailed as error:
                wait = error.wait_seconds
                if wait is None or not tries_left or not time.monotonic() + wait < deadline:
                    raise
                log.info("provider_asks_to_wait", wait_seconds=wait)
                time.sleep(wait)
        raise AssertionError  # the last try returns or raises

    def get(self, path: str, answer: type[T], *, deadline: float) -> T:
        """Asks how something stands."""
        return self._ask("GET", path, answer, deadline, None, {})

    @contextmanager
    def stream(self, url: str, *, deadline: float) -> Iterator[Clip]:
        """A file, piece by piece, redirects followed. Our key goes to the API's own host alone."""
        for _ in range(_MOST_REDIRECTS + 1):
            with self._answer("GET", url, deadline, None, {}) as response:
                target = response.headers.get("Location")
                if response.status in _REDIRECTS and target:
                    url = urljoin(url, target)
                    continue
                if response.status != 200:
                    raise self._failure(response, deadline)
                length = response.headers.get("Content-Length", "")
                yield Clip(int(length) if length.isdigit() else None, _chunks(response, deadline))
                return
        raise GenerationFailed("The AI provider's file is redirected too often.")

    def _ask(
        self,
        method: str,
        path: str,
        answer: type[T],
        deadline: float,
        body: bytes | None,
        headers: dict[str, str],
    ) -> T:
        with self._answer(method, f"{self.base_url}{path}", deadline, body, headers) as response:
            if response.status != 200:
                raise self._failure(response, deadline)
            raw = _whole(response, deadline)
        try:
            return _decoded(raw, answer)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            log.warning("provider_answer_malformed", problem=str(error))
            raise GenerationFailed("The AI provider's answer could not be read.", transient=True) from error

    @contextmanager
    def _answer(
        self, method: str, url: str, deadline: float, body: bytes | None, headers: dict[str, str]
    ) -> Iterator[urllib3.BaseHTTPResponse]:
        left = deadline - time.monotonic()
        if left <= 0:
            raise _too_slow()
        ours = self._headers if _origin(url) == _origin(self.base_url) else {}
        try:
            with tracing.outbound(method, urlsplit(url).hostname or "") as traced:
                response = self._pool.urlopen(
                    method,
                    url,
                    body=body,
                    headers={**headers, **ours, "Accept-Encoding": "identity"},
                    timeout=urllib3.Timeout(connect=min(_LIMITS.connect_seconds, left), read=left),
                    ceiling_seconds=left,
                    preload_content=False,
                )
                traced.got(response.status)
        except (HTTPError, OSError) as error:
            raise _no_answer(error) from error
        try:
            yield response
        except (HTTPError, OSError) as error:
            raise _no_answer(error) from error
        finally:
            response.close()  # one that was read to its end has given its connection back already

    def _failure(self, response: urllib3.BaseHTTPResponse, deadline: float) -> GenerationFailed:
        body = _whole(response, deadline, 64 * 1024)
        failure = self._explain(response.status, body)
        if failure.wait_seconds is None and response.status in (429, 503):
            failure.wait_seconds = _seconds(response.headers.get("Retry-After"))
        if failure.wait_seconds is None and response.status == 503:
            failure.wait_seconds = _BUSY_SECONDS
        log.warning(
            "provider_refused",
            status=response.status,
            reason=failure.reason,
            body=body[:500].decode("utf-8", "replace"),
        )
        return failure


def encoded(value: Any) -> bytes:
    """A request as JSON, bytes in base64, made beside the event loop."""
    return bytes(offload(msgspec.json.encode, value))


def _decoded(raw: bytes, answer: type[T]) -> T:
    if len(raw) < _LARGE_BYTES:
        return msgspec.json.decode(raw, type=answer)
    decoded: T = offload(lambda: msgspec.json.decode(raw, type=answer))
    return decoded


def _whole(response: urllib3.BaseHTTPResponse, deadline: float, most: int = MAX_ANSWER_BYTES) -> bytes:
    body = bytearray()
    for chunk in _chunks(response, deadline):
        body += chunk
        if len(body) > most:
            response.close()
            if most < MAX_ANSWER_BYTES:
                break
            raise GenerationFailed("The AI provider's answer is too large.")
    return bytes(body)


def _chunks(response: urllib3.BaseHTTPResponse, deadline: float) -> Iterator[bytes]:
    """Whatever has come, each time; a server that sends a byte now and then gets no further than the deadline."""
    while True:
        try:
            chunk = response.read1(_CHUNK_BYTES)
        except (HTTPError, OSError) as error:
            raise _no_answer(error) from error
        if not chunk:
            return
        if time.monotonic() > deadline:
            response.close()
            raise _too_slow()
        yield chunk


def _no_answer(error: Exception) -> GenerationFailed:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, (TimeoutError, urllib3.exceptions.TimeoutError)):
            return _too_slow()
        cause = cause.__cause__ or cause.__context__
    return GenerationFailed("The AI provider could not be reached.", transient=True)


def _too_slow() -> GenerationFailed:
    return GenerationFailed("The AI provider took too long.", transient=True)


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc.lower()


def _seconds(value: str | None) -> float | None:
    """Retry-After in seconds; its form as a date is not used by these APIs."""
    return float(value) if value and value.isdecimal() else None
