"""Sends HTTP calls to a platform, decides whether a call without an answer may have worked, and reads values out of
answers, which may contain anything.

What an answer means is decided in each platform's folder. No call is repeated here and no redirect is followed.

A call is visible if it makes something visible on the platform. Right before such a call is sent, the function given to
`permission` is asked whether the call may still be sent. Connectors do not get this function as a parameter: a
connector that forgot to pass it on would send after the claim was lost.
"""

import builtins
import json
import socket
import ssl
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol, TypeVar, cast
from urllib.parse import urlsplit

import urllib3
from urllib3.exceptions import (
    ConnectTimeoutError,
    HTTPError,
    NewConnectionError,
    TimeoutError,  # noqa: A004
)

from chassis.db import leases
from chassis.http.outbound import Limits, Outbound
from chassis.telemetry import tracing
from publishing.platforms.base import Account, OutcomeUnknown, PlatformRefusal, Refusal

T = TypeVar("T")
#: A JSON object in an answer.
Answer = dict[str, Any]

#: Connections kept open to one host. Our choice: more than the 48 page queues that a process serves by default.
_POOL_SIZE = 64
#: The largest answer that is read: a page of a hundred comments with their replies has less than one MiB. Our choice.
_MAX_ANSWER_BYTES = 4 * 2**20
_LONGEST_POLL_SECONDS = 5.0


class SizedBody(Protocol):
    """A body that is generated while it is sent, such as `multipart.Multipart`."""

    content_type: str
    length_bytes: int
    #: Whether the last byte has been sent: before that the platform cannot have accepted the body.
    is_sent: bool

    def __iter__(self) -> Any: ...


class Timeouts(Protocol):
    """The time limits of one call, in seconds. Every platform's settings have these fields."""

    @property
    def connect_timeout_seconds(self) -> float: ...
    @property
    def read_timeout_seconds(self) -> float: ...


@dataclass(frozen=True, slots=True)
class Response:
    """An answer of a platform. `body` is its JSON, None if it is not JSON; header names match in any case."""

    status: int
    headers: Mapping[str, str]
    body: Any = field(repr=False)

    @property
    def is_good(self) -> bool:
        return 200 <= self.status < 300


class HttpClient:
    """Makes calls to platforms over connections that it keeps open. Thread-safe.

    The time limit of a call is `read_timeout_seconds`, plus the time that its body takes at the slowest rate of
    `chassis.http.outbound`. The call then ends even if the platform still transfers a byte now and then.
    """

    def __init__(self, timeouts: Timeouts, *, pool_size: int = _POOL_SIZE) -> None:
        # Not requests: most of its time per call goes to cookies, hooks and sessions, which these calls do not have.
        # Proxies of the environment are ignored.
        limits = Limits(
            connect_seconds=timeouts.connect_timeout_seconds,
            silence_seconds=timeouts.read_timeout_seconds,
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
    ) -> Response:
        """Sends one call and returns the answer.

        `visible`: the call makes something visible, and a second call would make it twice. `completes`: the call makes
        something visible, but may be repeated safely. Both need permission (`permission`).

        If no answer comes, raises OutcomeUnknown for a `visible` call that may have reached the platform, and
        PlatformRefusal for any other call. Errors that the body raises are passed on.
        """
        sent_headers = dict(headers)
        if body is not None and not isinstance(body, bytes):
            sent_headers |= {"Content-Type": body.content_type, "Content-Length": str(body.length_bytes)}
        sent = cast("Iterable[bytes] | None", body)
        if visible or completes:
            check_permission()
            if isinstance(body, bytes):
                sent_headers |= {"Content-Length": str(len(body))}
            if body:
                sent = _permitted(body)
        try:
            with tracing.outbound(method, urlsplit(url).hostname or "") as traced:
                response = self._pool.urlopen(method, url, body=sent, headers=sent_headers)
                traced.got(response.status)
        except (HTTPError, OSError) as error:
            may_have_arrived = body is None or isinstance(body, bytes) or body.is_sent
            raise no_answer(error, visible and may_have_arrived) from error
        return Response(response.status, response.headers, parsed(response))


def _granted() -> None:
    """Permits a call. Used for calls that are made outside of a `permission` block, as in tests of connectors."""


_ask: ContextVar[Callable[[], None]] = ContextVar("permission", default=_granted)


@contextmanager
def permission(ask: Callable[[], None]) -> Iterator[None]:
    """In this block, calls `ask` before every call that makes something visible on the platform. If `ask` raises an
    exception, that call is not sent."""
    token = _ask.set(ask)
    try:
        yield
    finally:
        _ask.reset(token)


@contextmanager
def permission_until(deadline: float) -> Iterator[None]:
    """In this block, and after `deadline` (`chassis.db.leases.local_deadline`), stops every call that would make
    something visible on the platform. A stopped call raises OutcomeUnknown, because an earlier call in the block may
    have been sent.

    Used for claims that have a lease of their own. The other claims end with the worker's lease.
    """

    def ask() -> None:
        if leases.elapsed() >= deadline:
            raise OutcomeUnknown("the claim may have lapsed before the call was sent")

    with permission(ask):
        yield


def check_permission() -> None:
    """Asks whether a call that makes something visible on the platform may still be sent. To do so, calls the function
    given to `permission`, which raises an exception if not."""
    _ask.get()()


def bearer(account: Account) -> dict[str, str]:
    """Returns the HTTP header that carries the account's token."""
    return {"Authorization": f"Bearer {account.access_token}"}


def _permitted(body: bytes | SizedBody) -> Iterator[bytes]:
    """Yields the body of a call that makes something visible on the platform. Before the last piece, checks once more
    that the call may be sent: connecting and sending take time, and no platform acts on an incomplete body."""
    pieces = iter((body,)) if isinstance(body, bytes) else iter(body)
    last = next(pieces, b"")
    for piece in pieces:
        yield last
        last = piece
    check_permission()
    yield last


def parsed(response: urllib3.BaseHTTPResponse) -> Any:
    """Returns the answer's JSON; None if the answer is not JSON.

    Replaces lone surrogates (`\\ud83d` cut from an emoji), which neither PostgreSQL nor a JSON answer takes.
    """
    try:
        return json.loads(json.dumps(response.json(), ensure_ascii=False).encode("utf-8", "replace"))
    except ValueError:
        return None


def no_answer(error: Exception, visible: bool) -> Exception:
    """Returns the error for a call that got no answer.

    The error is OutcomeUnknown if the call makes something visible on the platform (`visible`) and may have been sent.
    Otherwise it is a temporary failure.
    """
    if visible and not _never_sent(error):
        return OutcomeUnknown(type(error).__name__)
    if _is_timeout(error) and not isinstance(error, NewConnectionError):
        return transient("TIMED_OUT", "The platform did not answer in time.")
    return transient("UNREACHABLE", "The platform could not be reached.")


def unrecognised(response: Response, visible: bool, wait_seconds: float | None = None) -> Exception:
    """Returns the error for an answer that is not in the platform's format, such as one from a proxy.

    Status 429 is always a rate limit. For any other status, the error is OutcomeUnknown if the call makes something
    visible on the platform (`visible`), otherwise a temporary failure.

    `wait_seconds`: how long to wait after a rate limit; None: as long as the header Retry-After says.
    """
    if response.status == 429:  # never sent after the work was done
        wait = retry_after(response.headers) if wait_seconds is None else wait_seconds
        return PlatformRefusal(Refusal.RATE_LIMITED, "HTTP_429", "Too many calls.", wait)
    if visible:
        return OutcomeUnknown(f"HTTP {response.status} without an answer of the platform")
    return transient(f"HTTP_{response.status}", "The platform did not answer as it should.")


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Returns the seconds that the header Retry-After names; None if it is missing or not a number."""
    after = headers.get("Retry-After", "")
    return float(after) if after.isascii() and after.isdigit() else None


def _never_sent(error: BaseException) -> bool:
    """Whether the connection failed before the platform received anything of the call."""
    if isinstance(error, ConnectTimeoutError):  # also raised for refused connections and unknown names
        return True
    never = (ConnectionRefusedError, socket.gaierror, ssl.SSLCertVerificationError)
    return any(isinstance(cause, never) for cause in _causes(error))


def _is_timeout(error: BaseException) -> bool:
    """Whether the call timed out: urllib3 raises its own exception while it reads, and another one while it sends."""
    return any(isinstance(cause, (TimeoutError, builtins.TimeoutError)) for cause in _causes(error))


def _causes(error: BaseException) -> Iterator[BaseException]:
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__


def transient(code: str, message: str) -> PlatformRefusal:
    """Returns a PlatformRefusal for a temporary failure that we noticed ourselves."""
    return PlatformRefusal(Refusal.TRANSIENT, code, message)


class Patience(Protocol):
    """The time limits of waiting while a platform processes something, in seconds. Every platform's settings have
    these fields."""

    @property
    def poll_seconds(self) -> float: ...
    @property
    def poll_limit_seconds(self) -> float: ...


def poll(patience: Patience, look: Callable[[], T | None]) -> T | None:
    """Calls `look` until it returns a value other than None, and returns that. Returns None if the time runs out.

    Waits longer after each call.
    """
    until = time.monotonic() + patience.poll_limit_seconds
    wait_seconds = patience.poll_seconds
    while (found := look()) is None and time.monotonic() + wait_seconds < until:
        time.sleep(wait_seconds)
        wait_seconds = min(wait_seconds * 2, _LONGEST_POLL_SECONDS)
    return found


def objects(value: Any) -> list[Answer]:
    """Returns the JSON objects in a list; an empty list if the value is not a list."""
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def required(answer: Answer, name: str, *, visible: bool = False) -> str:
    """Returns a value of the answer as text.

    If the value is missing, raises OutcomeUnknown if the call makes something visible on the platform (`visible`),
    otherwise PlatformRefusal.
    """
    if answer.get(name):
        return str(answer[name])
    message = f"The platform's answer names no {name}."
    raise OutcomeUnknown(message) if visible else transient("NO_ID", message)


def iso_time(text: Any) -> datetime | None:
    """Parses a time such as `2026-08-07T12:34:56+0000` (or with Z) into UTC.

    Returns None for anything else, also for a time without an offset.
    """
    try:
        moment = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return None
    return moment.astimezone(UTC) if moment.tzinfo else None


def epoch_time(value: Any, *, per_second: int = 1) -> datetime | None:
    """Converts a Unix time to UTC; None if the value is no positive number. `per_second`: 1 for seconds, 1000 for
    milliseconds."""
    is_time = isinstance(value, int | float) and not isinstance(value, bool) and value > 0
    return datetime.fromtimestamp(value / per_second, UTC) if is_time else None
