"""The clients with which the dashboard calls the API for a browser's request, and helpers that run several calls at
once.

A client acts for the person who is signed in, and tells the API the browser's name and IP address.
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar, cast, overload

import httpx2
from flask import Flask, current_app, g, request

from dashboard.config import Config
from posthaste import Posthaste
from posthaste.retries import RetryPolicy

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")

#: A person waits: one repetition bridges the restart of a process, more would only look like a page that hangs.
_RETRIES = RetryPolicy(max_retries=1, max_wait_seconds=1.0)
_READ_SECONDS = 15.0
#: Publishing and uploads: the API's longest answer takes up to 120 s.
_PATIENT_SECONDS = 130.0
_EXTENSION = "posthaste_api"


#: When each call of a request began and ended, in seconds of `time.perf_counter`.
Calls = list[tuple[float, float]]


class _ForPerson:
    """An HTTP client for the API calls of one browser request. It adds the browser's name and address to each call, and
    notes when the call began and ended.

    The API names browser and address in its list of sessions, and limits sign-ins by address.
    """

    def __init__(self, http: httpx2.Client, headers: dict[str, str], calls: Calls) -> None:
        self._http, self._headers, self._calls = http, headers, calls

    @contextmanager
    def stream(
        self, method: str, url: str, *, headers: dict[str, str], **more: Any
    ) -> Iterator[httpx2.Response]:
        begun_at = time.perf_counter()
        try:
            with self._http.stream(method, url, headers=headers | self._headers, **more) as response:
                yield response
        finally:
            self._calls.append((begun_at, time.perf_counter()))


def agent_of(sent: str) -> str:
    """Returns a browser's User-Agent in a form that an HTTP header can carry: at most 200 ASCII characters; `unknown`
    if nothing is left.
    """
    return sent.encode("ascii", "ignore").decode()[:200].strip() or "unknown"


def seconds_of(calls: Calls) -> float:
    """Returns the seconds during which at least one of these calls was running."""
    total = end = 0.0
    for begun_at, ended_at in sorted(calls):
        total += max(0.0, ended_at - max(begun_at, end))
        end = max(end, ended_at)
    return total


class Api:
    """The connections to the API, shared by all requests of a process."""

    def __init__(self, config: Config) -> None:
        limits = httpx2.Limits(max_connections=100, max_keepalive_connections=32)
        self._http = httpx2.Client(follow_redirects=False, limits=limits, trust_env=False)
        self._config = config
        self.pool = ThreadPoolExecutor(3 * config.threads, "api")
        self.slow_places = threading.BoundedSemaphore(max(1, config.threads // 2))

    def client(self, token: str, *, patient: bool = False) -> Posthaste:
        """Returns a client of the API that calls it with this token, for the browser of the current request. `patient`:
        waits longer for answers.
        """
        address = request.remote_addr or ""
        headers = {"User-Agent": agent_of(request.user_agent.string)}
        if address and self._config.trusted_proxy_hops:
            # The API takes the entry of its outermost trusted proxy: every entry is the address that we found.
            headers["X-Forwarded-For"] = ", ".join([address] * self._config.trusted_proxy_hops)
        return Posthaste(
            token or "none",
            base_url=self._config.api_url,
            timeout_seconds=_PATIENT_SECONDS if patient else _READ_SECONDS,
            retries=_RETRIES,
            http=cast(httpx2.Client, _ForPerson(self._http, headers, g.api_calls)),
        )


def attach(app: Flask, config: Config) -> None:
    app.extensions[_EXTENSION] = Api(config)


def _api() -> Api:
    found: Api = current_app.extensions[_EXTENSION]
    return found


def reader() -> Posthaste:
    """Returns a client of the API that acts for the person: on their own account or on the brand that they work on. It
    waits up to 15 s for an answer."""
    return _api().client(g.acting_token)


def patient() -> Posthaste:
    """Returns a client of the API that acts for the person, as `reader` does, and waits up to two minutes for an
    answer.
    """
    return _api().client(g.acting_token, patient=True)


def own(token: str = "") -> Posthaste:
    """Returns a client of the API for the person's own account, even while they work on somebody else's brand.

    `token`: the token of a session that has just begun. Without it, uses the token in the browser's cookie.
    """
    return _api().client(token or g.session_token)


@contextmanager
def slow_place() -> Iterator[bool]:
    """Tries to take one of the slots for reads that wait for a platform, without waiting for a free one. Yields whether
    it got a slot, which it gives back at the end of the block.

    There are half as many slots as threads, so that the other screens stay quick while platforms are slow.
    """
    places = _api().slow_places
    is_taken = places.acquire(blocking=False)
    try:
        yield is_taken
    finally:
        if is_taken:
            places.release()


@overload
def together(first: Callable[[], A], second: Callable[[], B], /) -> tuple[A, B]: ...
@overload
def together(
    first: Callable[[], A], second: Callable[[], B], third: Callable[[], C], /
) -> tuple[A, B, C]: ...
def together(*calls: Callable[[], Any]) -> tuple[Any, ...]:
    """Runs calls at the same time, each in a thread, and returns their results in the same order. If calls fail, raises
    the error of the first of them in this order.
    """
    running = [_api().pool.submit(call) for call in calls]
    return tuple(one.result() for one in running)


def side_by_side(first: Callable[[], A], second: Callable[[], B]) -> Callable[[], tuple[A, B]]:
    """Returns a function that runs two calls at the same time and returns both results.

    The function may run in any thread, also inside `together`. It makes the first call in its own thread and only the
    second in another. If it needed two more threads, all threads could end up waiting for a free one.
    """
    pool = _api().pool

    def run() -> tuple[A, B]:
        other = pool.submit(second)
        return first(), other.result()

    return run


def all_of(call: Callable[[A], B], arguments: Iterable[A]) -> list[B]:
    """Runs a call for each argument, side by side as far as threads are free, and returns the results in order."""
    return list(_api().pool.map(call, arguments))
