"""HTTP calls to a provider's API: pooled connections, a deadline per call, retries when the provider asks for them."""

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

#: Connections kept open: more than the 24 calls and 16 video steps that run at once by default.
_POOL_SIZE = 64
#: A provider may be silent for as long as the call's deadline allows.
_LIMITS = Limits(connect_seconds=5.0, silence_seconds=math.inf)
_CHUNK_BYTES = 256 * 1024
#: The largest answer: an image of 20 MB in base64, and some text.
MAX_ANSWER_BYTES = 28 * 2**20
#: Larger answers take long enough to decode that a real thread does it, beside the event loop.
_LARGE_BYTES = 64 * 1024
_MAX_TRIES = 3
#: How long to wait after a 503 without Retry-After.
_BUSY_SECONDS = 1.0
_MAX_REDIRECTS = 3
_REDIRECTS = (301, 302, 303, 307, 308)

#: Turns status and body of an error answer into the error; `wait_seconds` where the body says when to retry.
Explain = Callable[[int, bytes], GenerationFailed]


class ApiClient:
    """A client of one API at one base address. Every method may raise GenerationFailed."""

    def __init__(self, base_url: str, headers: Mapping[str, str], error_of: Explain) -> None:
        self.base_url = base_url.rstrip("/")
        self._headers = dict(headers)
        self._explain = error_of
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
        """Sends a request to generate something, and returns the answer, decoded as the type `answer`.

        Sends the request again after any 503, and after a 429 that says when to retry. It is sent at most three times
        in all, and only before the deadline.
        """
        for tries_left in range(_MAX_TRIES - 1, -1, -1):
            try:
                return self._call("POST", path, answer, deadline, body, {"Content-Type": content_type})
            except GenerationFailed as error:
                wait = error.wait_seconds
                if wait is None or not tries_left or not time.monotonic() + wait < deadline:
                    raise
                log.info("provider_asks_to_wait", wait_seconds=wait)
                time.sleep(wait)
        raise AssertionError  # the last try returns or raises

    def get(self, path: str, answer: type[T], *, deadline: float) -> T:
        """Reads something from the API and returns the decoded answer."""
        return self._call("GET", path, answer, deadline, None, {})

    @contextmanager
    def stream(self, url: str, *, deadline: float) -> Iterator[Clip]:
        """Yields a file as a clip, whose chunks can be read during the block. Follows redirects, but sends our API key
        only to the API's own host.
        """
        for _ in range(_MAX_REDIRECTS + 1):
            with self._request("GET", url, deadline, None, {}) as response:
                target = response.headers.get("Location")
                if response.status in _REDIRECTS and target:
                    url = urljoin(url, target)
                    continue
                if response.status != 200:
                    raise self._refusal(response, deadline)
                length = response.headers.get("Content-Length", "")
                yield Clip(int(length) if length.isdigit() else None, _chunks(response, deadline))
                return
        raise GenerationFailed("The AI provider's file is redirected too many times.")

    def _call(
        self,
        method: str,
        path: str,
        answer: type[T],
        deadline: float,
        body: bytes | None,
        headers: dict[str, str],
    ) -> T:
        with self._request(method, f"{self.base_url}{path}", deadline, body, headers) as response:
            if response.status != 200:
                raise self._refusal(response, deadline)
            raw = _read_all(response, deadline)
        try:
            return _decoded(raw, answer)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            log.warning("provider_answer_malformed", problem=str(error))
            raise GenerationFailed("The AI provider's answer could not be read.", transient=True) from error

    @contextmanager
    def _request(
        self, method: str, url: str, deadline: float, body: bytes | None, headers: dict[str, str]
    ) -> Iterator[urllib3.BaseHTTPResponse]:
        left = deadline - time.monotonic()
        if left <= 0:
            raise _timeout_error()
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
            raise _connection_error(error) from error
        try:
            yield response
        except (HTTPError, OSError) as error:
            raise _connection_error(error) from error
        finally:
            response.close()  # a response that was read to its end has returned its connection already

    def _refusal(self, response: urllib3.BaseHTTPResponse, deadline: float) -> GenerationFailed:
        body = _read_all(response, deadline, 64 * 1024)
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


def to_json(value: Any) -> bytes:
    """Encodes a request as JSON (bytes in base64), in a real thread, so that it does not hold up the event loop."""
    return offload(msgspec.json.encode, value)


def _decoded(raw: bytes, answer: type[T]) -> T:
    if len(raw) < _LARGE_BYTES:
        return msgspec.json.decode(raw, type=answer)
    return offload(lambda: msgspec.json.decode(raw, type=answer))


def _read_all(response: urllib3.BaseHTTPResponse, deadline: float, most: int = MAX_ANSWER_BYTES) -> bytes:
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
    """Yields the chunks as they arrive. Raises GenerationFailed at the deadline, even if the server still sends a byte
    now and then."""
    while True:
        try:
            chunk = response.read1(_CHUNK_BYTES)
        except (HTTPError, OSError) as error:
            raise _connection_error(error) from error
        if not chunk:
            return
        if time.monotonic() > deadline:
            response.close()
            raise _timeout_error()
        yield chunk


def _connection_error(error: Exception) -> GenerationFailed:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, (TimeoutError, urllib3.exceptions.TimeoutError)):
            return _timeout_error()
        cause = cause.__cause__ or cause.__context__
    return GenerationFailed("The AI provider could not be reached.", transient=True)


def _timeout_error() -> GenerationFailed:
    return GenerationFailed("The AI provider took too long.", transient=True)


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc.lower()


def _seconds(value: str | None) -> float | None:
    """Returns the seconds in a Retry-After header; None if it is missing or not a whole number. These APIs do not send
    a date in it.
    """
    return float(value) if value and value.isdecimal() else None
