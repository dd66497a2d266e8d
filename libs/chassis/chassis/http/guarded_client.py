"""Fetches URLs given by strangers, without connecting to our own network (SSRF).

The host name is resolved here, and all its addresses must be public. The connection goes to exactly the address that
was checked, so that DNS rebinding has no effect. Every redirect is checked in the same way. Proxies from environment
variables are not used, because they would resolve the name themselves.
"""

import socket
import ssl
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from http.client import HTTPException
from typing import Any
from urllib.parse import urljoin

import certifi
from urllib3.connection import HTTPConnection
from urllib3.exceptions import HTTPError
from urllib3.response import BaseHTTPResponse
from urllib3.util.ssl_ import create_urllib3_context

from chassis.http.addresses import ParsedTarget, UnsafeAddress, check_url, is_address, is_public
from chassis.http.measured_socket import MeasuredSocket, measured, seconds_left, secured, turn_seconds
from chassis.http.resolver import Resolve, resolver

#: Our choice: enough for a short link and a CDN.
MAX_REDIRECTS = 3
CHUNK_BYTES = 64 * 1024
_REDIRECTS = (301, 302, 303, 307, 308)
_HEADERS = {"User-Agent": "Posthaste", "Accept": "*/*", "Accept-Encoding": "identity", "Connection": "close"}


class FetchProblem(StrEnum):
    """Why a fetch failed."""

    UNREACHABLE = "unreachable"
    TIMED_OUT = "timed_out"
    TOO_LARGE = "too_large"
    WRONG_TYPE = "wrong_type"
    REDIRECTED = "redirected"


class FetchFailed(Exception):
    """Raised when the fetch failed. A retry can help only if `retryable` is true."""

    def __init__(self, problem: FetchProblem, message: str) -> None:
        super().__init__(message)
        self.problem = problem
        self.message = message

    @property
    def retryable(self) -> bool:
        return self.problem in (FetchProblem.UNREACHABLE, FetchProblem.TIMED_OUT)


@dataclass(frozen=True, slots=True)
class Stream:
    """The status and headers of an answer.

    `chunks` yields the answer's body, once and within the limits. It raises FetchFailed if the fetch fails.
    """

    status: int
    #: The bare type in lower case, empty if the server named none.
    content_type: str
    #: The announced length, if any.
    length_bytes: int | None
    final_url: str
    chunks: Iterator[bytes]


def resolve(host: str, port: int) -> list[str]:
    """Returns a host's addresses from the system's resolver, without blocking other green threads."""
    if is_address(host):
        return [host]
    rows = socket.getaddrinfo(host, port, socket.AF_UNSPEC, socket.SOCK_STREAM)
    return [str(row[4][0]) for row in rows]


@contextmanager
def stream(
    url: str,
    *,
    max_bytes: int,
    timeout_seconds: float,
    allowed_types: Collection[str] | None = None,
    host_map: Mapping[str, str] | None = None,
    redirects: int = MAX_REDIRECTS,
    resolve: Resolve = resolve,
    ssl_context: ssl.SSLContext | None = None,
    counts_our_time: bool = True,
) -> Iterator[Stream]:
    """Fetches a file in chunks. `timeout_seconds` covers everything, from the DNS lookup to the last byte; with
    `counts_our_time=False` the time between two chunks, while the caller works, does not count.

    A 2xx answer must have one of the `allowed_types`, if they are given. Answers with another status are not checked;
    the caller judges them. Hosts in `host_map` (host -> "ip:port", OUTBOUND_HOST_MAP) are fetched from that address
    without a check. Raises UnsafeAddress for a URL that is not permitted, and FetchFailed if the fetch fails.
    """
    deadline = time.monotonic() + timeout_seconds
    route = _Route(
        host_map={host.lower(): address for host, address in (host_map or {}).items()},
        resolve=resolve,
        ssl_context=ssl_context,
    )
    for _ in range(redirects + 1):
        target = check_url(url, route.host_map)
        with _answer(target, route, max_bytes, deadline, counts_our_time) as response:
            if response.status not in _REDIRECTS or "Location" not in response.headers:
                yield _stream(response, target.url, max_bytes, allowed_types, deadline)
                return
            url = urljoin(target.url, response.headers["Location"])
    raise FetchFailed(FetchProblem.REDIRECTED, f"The URL redirects more than {redirects} times.")


@dataclass(frozen=True, slots=True)
class _Route:
    """How to reach hosts: fixed addresses for some, a resolver for the others, and the TLS context."""

    host_map: dict[str, str]
    resolve: Resolve
    ssl_context: ssl.SSLContext | None


class _Pinned(HTTPConnection):
    """An HTTP connection to addresses that were checked before. Host header, SNI and certificate check still use the
    name."""

    addresses: Sequence[tuple[str, int]] = ()
    deadline: float = 0.0
    #: None: no TLS.
    ssl_context: ssl.SSLContext | None = None
    measured: MeasuredSocket

    def _new_conn(self) -> Any:
        problem = OSError("no address")
        for number, address in enumerate(self.addresses):
            seconds = turn_seconds(self.deadline, len(self.addresses) - number)
            try:
                connected = socket.create_connection(address, timeout=seconds)
            except OSError as error:
                problem = error
            else:
                sock = self.measured = measured(connected, self.deadline)
                return secured(sock, self.ssl_context, self.host) if self.ssl_context else sock
        raise problem


@contextmanager
def _answer(
    target: ParsedTarget, route: _Route, max_bytes: int, deadline: float, counts_our_time: bool
) -> Iterator[BaseHTTPResponse]:
    """Sends one GET, and yields the head of its answer. Closes the connection at the end of the block."""
    connection = _connection(target, route, deadline)
    try:
        with _failures(deadline):
            headers = _HEADERS | {"Host": target.authority}
            connection.request("GET", target.target, headers=headers, preload_content=False)
            response = connection.getresponse()
            connection.measured.allow(deadline, max_bytes, counts_our_time=counts_our_time)
        try:
            yield response
        finally:
            response.close()
    finally:
        connection.close()


@contextmanager
def _failures(deadline: float) -> Iterator[None]:
    """Turns every connection error inside the block into FetchFailed."""
    try:
        yield
    except (HTTPError, HTTPException, OSError, ValueError) as error:
        if time.monotonic() >= deadline or isinstance(error, TimeoutError):
            raise FetchFailed(FetchProblem.TIMED_OUT, "The server of the URL takes too long.") from error
        raise FetchFailed(FetchProblem.UNREACHABLE, "The server of the URL cannot be reached.") from error


def _connection(target: ParsedTarget, route: _Route, deadline: float) -> _Pinned:
    connection = _Pinned(target.host, target.port, timeout=seconds_left(deadline))
    if target.scheme == "https":
        connection.ssl_context = route.ssl_context or trusted()
    connection.addresses = _addresses(target, route, deadline)
    connection.deadline = deadline
    return connection


def _addresses(target: ParsedTarget, route: _Route, deadline: float) -> list[tuple[str, int]]:
    if target.host in route.host_map:
        host, _, port = route.host_map[target.host].rpartition(":")
        return [(host.strip("[]"), int(port))]
    try:
        answer = resolver().ask(route.resolve, target.host, target.port, seconds_left(deadline))
        addresses = list(dict.fromkeys(answer))
    except TimeoutError as error:
        raise FetchFailed(FetchProblem.TIMED_OUT, "Looking up the host of the URL takes too long.") from error
    except (OSError, UnicodeError) as error:
        raise FetchFailed(FetchProblem.UNREACHABLE, "The host of the URL is not known.") from error
    if not addresses:
        raise FetchFailed(FetchProblem.UNREACHABLE, "The host of the URL is not known.")
    # A private address among public ones is an attack or a mistake. Fetch from neither.
    if not all(is_public(address) for address in addresses):
        raise UnsafeAddress("The host is not on the public internet.")
    return [(address, target.port) for address in addresses]


@cache
def trusted() -> ssl.SSLContext:
    """Returns the TLS context of outbound calls, which trusts the public certificate authorities."""
    context = create_urllib3_context()
    context.load_verify_locations(certifi.where())
    return context


def _stream(
    response: BaseHTTPResponse,
    final_url: str,
    max_bytes: int,
    allowed_types: Collection[str] | None,
    deadline: float,
) -> Stream:
    content_type = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    length = response.headers.get("Content-Length", "")
    length_bytes = int(length) if length.isascii() and length.isdigit() else None
    if allowed_types is not None and 200 <= response.status < 300 and content_type not in allowed_types:
        what = content_type or "a file of no named type"
        raise FetchFailed(FetchProblem.WRONG_TYPE, f"The URL leads to {what}.")
    if length_bytes is not None and length_bytes > max_bytes:
        raise _too_large(max_bytes)
    return Stream(
        status=response.status,
        content_type=content_type,
        length_bytes=length_bytes,
        final_url=final_url,
        chunks=_chunks(response, max_bytes, deadline),
    )


def _chunks(response: BaseHTTPResponse, max_bytes: int, deadline: float) -> Iterator[bytes]:
    received = 0
    while True:
        with _failures(deadline):
            chunk = response.read(CHUNK_BYTES, decode_content=False)
        if not chunk:
            return
        received += len(chunk)
        if received > max_bytes:
            raise _too_large(max_bytes)
        yield chunk


def _too_large(max_bytes: int) -> FetchFailed:
    return FetchFailed(FetchProblem.TOO_LARGE, f"The file is larger than {max_bytes} bytes.")
