"""HTTP to a platform: one call, its answer as it came, and what no answer at all says about the outcome.

What an answer means is each platform's own module. Nothing is repeated here and no redirect is followed.
"""

import builtins
import json
import socket
import ssl
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar, cast
from urllib.parse import urlsplit

import urllib3
from urllib3.exceptions import (
    ConnectTimeoutError,
    HTTPError,
    NewConnectionError,
    TimeoutError,  # noqa: A004
)

from chassis.http.outbound import Limits, Outbound
from chassis.telemetry import tracing
from publishing.platforms import permission
from publishing.platforms.base import OutcomeUnknown, PlatformRefusal, Refusal

T = TypeVar("T")

#: Connections kept open to one host. Our choice.
_POOL_SIZE = 64
#: The largest answer that is read: a page of a hundred comments with their replies has less than one. Our choice.
_MAX_ANSWER_BYTES = 4 * 2**20
_LONGEST_POLL_SECONDS = 5.0


class SizedBody(Protocol):
    """A body that is made while it is sent, such as `multipart.Multipart`."""

    content_type: str
    length_bytes: int
    #: Whether the last byte has left: before that the platform cannot have taken it.
    is_sent: bool

    def __iter__(self) -> Any: ...


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer. `body` is its JSON, None when it is none; header names in any case."""

    status: int
    headers: Mapping[str, str]
    body: Any = field(repr=False)

    @property
    def is_good(self) -> bool:
        return 200 <= self.status < 300


class Wire:
    """Calls to platforms over connections that are kept; thread-safe. Times in seconds.

    A call ends after `read_timeout_seconds` and the time that its body needs at `chassis.http.outbound`'s slowest rate,
    whether the platform is silent or sends and takes a byte now and then.
    """

    def __init__(
        self, *, connect_timeout_seconds: float, read_timeout_seconds: float, pool_size: int = _POOL_SIZE
    ) -> None:
        # Not requests: most of its time per call goes to cookies, hooks and sessions that these calls do not have.
        # Proxies of the environment are not asked.
        limits = Limits(
            connect_seconds=connect_timeout_seconds,
            silence_seconds=read_timeout_seconds,
            max_answer_bytes=_MAX_ANSWER_BYTES,
        )
        self._pool = Outbound(limits, connections=pool_size)

    def send(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        body: bytes | SizedBody | None = None,
        visible: bool = False,
        completes: bool = False,
    ) -> Reply:
        """One call. `visible`: it makes something that is seen, so that a broken call may have worked. `completes`: the
        same, of a call that may be repeated at will. Either needs permission (`permission.py`).

        Raises OutcomeUnknown (visible calls alone) and PlatformRefusal when no answer came, and what the body raises.
        """
        described = dict(headers)
        if body is not None and not isinstance(body, bytes):
            described |= {"Content-Type": body.content_type, "Content-Length": str(body.length_bytes)}
        sent = cast("Iterable[bytes] | None", body)
        if visible or completes:
            permission.check()
            if isinstance(body, bytes):
                described |= {"Content-Length": str(len(body))}
            if body:
                sent = _permitted(body)
        try:
            with tracing.outbound(method, urlsplit(url).hostname or "") as traced:
                response = self._pool.urlopen(method, url, body=sent, headers=described)
                traced.got(response.status)
        except (HTTPError, OSError) as error:
            may_have_come = body is None or isinstance(body, bytes) or body.is_sent
            raise no_answer(error, visible and may_have_come) from error
        return Reply(response.status, response.headers, parsed(response))


def _permitted(body: bytes | SizedBody) -> Iterator[bytes]:
    """The body; whether it may still be sent is asked again before the piece that completes it, as connecting and all
    that is sent before take their time: no platform acts on a body that is not complete."""
    pieces = iter((body,)) if isinstance(body, bytes) else iter(body)
    last = next(pieces, b"")
    for piece in pieces:
        yield last
        last = piece
    permission.check()
    yield last


def parsed(response: urllib3.BaseHTTPResponse) -> Any:
    """An answer's JSON, None when it is none; without lone surrogates (`\\ud83d` cut from an emoji), which neither
    PostgreSQL nor a JSON answer takes."""
    try:
        return json.loads(json.dumps(response.json(), ensure_ascii=False).encode("utf-8", "replace"))
    except ValueError:
        return None


def no_answer(error: Exception, visible: bool) -> Exception:
    """What a call without an answer says: unknown if it was sent and makes something visible, else try again."""
    if visible and not _never_sent(error):
        return OutcomeUnknown(type(error).__name__)
    if _is_timeout(error) and not isinstance(error, NewConnectionError):
        return transient("TIMED_OUT", "The platform did not answer in time.")
    return transient("UNREACHABLE", "The platform could not be reached.")


def strange(reply: Reply, visible: bool, wait_seconds: float | None = None) -> Exception:
    """What an answer says that is not in the platform's own words: something on the way there or back spoke."""
    if reply.status == 429:  # never said after the deed
        wait = retry_after(reply.headers) if wait_seconds is None else wait_seconds
        return PlatformRefusal(Refusal.RATE_LIMITED, "HTTP_429", "Too many calls.", wait)
    if visible:
        return OutcomeUnknown(f"HTTP {reply.status} without an answer of the platform")
    return transient(f"HTTP_{reply.status}", "The platform did not answer as it should.")


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds in Retry-After; None: not said so."""
    after = headers.get("Retry-After", "")
    return float(after) if after.isascii() and after.isdigit() else None


def _never_sent(error: BaseException) -> bool:
    """Whether the connection itself failed: then the platform has seen nothing of the call."""
    if isinstance(error, ConnectTimeoutError):  # refused and unresolved are kinds of it
        return True
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, (ConnectionRefusedError, socket.gaierror, ssl.SSLCertVerificationError)):
            return True
        cause = cause.__cause__ or cause.__context__
    return False


def _is_timeout(error: BaseException) -> bool:
    """Whether the time was over: urllib3 says so by its own exception while it reads, by any other while it sends."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, (TimeoutError, builtins.TimeoutError)):
            return True
        cause = cause.__cause__ or cause.__context__
    return False


def transient(code: str, message: str) -> PlatformRefusal:
    """Not now, for a reason of ours."""
    return PlatformRefusal(Refusal.TRANSIENT, code, message)


class Patience(Protocol):
    """How long a platform is waited for while it works on something. Times in seconds."""

    @property
    def poll_seconds(self) -> float: ...
    @property
    def poll_limit_seconds(self) -> float: ...


def poll(patience: Patience, look: Callable[[], T | None]) -> T | None:
    """Look again and again until there is an answer; None when the time is over."""
    until = time.monotonic() + patience.poll_limit_seconds
    wait_seconds = patience.poll_seconds
    while (found := look()) is None and time.monotonic() + wait_seconds < until:
        time.sleep(wait_seconds)
        wait_seconds = min(wait_seconds * 2, _LONGEST_POLL_SECONDS)
    return found
