"""Sends POST requests to a URL given by a stranger, over one connection that is kept open.

As in `guarded_client`, the name is resolved here before every request, and the connection goes to exactly the address
that was checked. A kept connection is used only while its address is still one of the name's. Redirects are not
followed.
"""

import errno
import math
import socket
import ssl
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from http.client import HTTPConnection, HTTPException, HTTPResponse
from select import select

from chassis.http.addresses import (
    AllowedNetworks,
    ParsedTarget,
    UnsafeAddress,
    check_url,
    is_address,
    is_allowed,
    is_public,
)
from chassis.http.connectivity import ConnectivityTracker
from chassis.http.guarded_client import resolve, trusted
from chassis.http.measured_socket import MeasuredSocket, measured, seconds_left, secured, turn_seconds
from chassis.http.resolver import NoTurn, Resolve, resolver

#: A connection that was used more recently is not checked before its next use, because the check costs a system call.
_FRESH_SECONDS = 0.1
#: Errors of a kept connection that the server has closed.
_HUNG_UP = (ConnectionResetError, ConnectionAbortedError, BrokenPipeError)
#: Errors for missing resources of this machine, and for a missing route of its network.
_SHORTAGES = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_NO_WAY = (errno.ENETUNREACH, errno.ENETDOWN, errno.EADDRNOTAVAIL)
#: Public IPv4 addresses that we could connect to.
_reached = ConnectivityTracker()


class PostProblem(StrEnum):
    """Why a server gave no answer to a POST request."""

    TIMEOUT = "timeout"
    UNKNOWN_HOST = "unknown_host"
    PRIVATE_ADDRESS = "private_address"
    REFUSED = "refused"
    UNREACHABLE = "unreachable"
    TLS = "tls"
    DISCONNECTED = "disconnected"
    PROTOCOL = "protocol"


class PostFailed(Exception):
    """Raised when the server gave no answer. It may have received the request."""

    def __init__(self, problem: PostProblem, *, is_ours: bool = False, others_at: float = -math.inf) -> None:
        """`is_ours`: this machine or its network failed, so the server got no request. That is a guess if a DNS lookup
        got no answer or there is no route.

        `others_at` (monotonic): when another host last succeeded. If other hosts go on succeeding while this one
        fails, the fault is this host's.
        """
        super().__init__(problem.value)
        self.problem = problem
        self.is_ours = is_ours
        self.others_at = others_at


@dataclass(frozen=True, slots=True)
class Answered:
    """The status and body of the server's answer. `body` is None if the server's address is not public, because a
    stranger must not read answers from our own network.
    """

    status: int
    #: The beginning of the body, up to the limit. None for a server outside the public internet: a stranger must not
    #: read answers from the deployment's own network.
    body: bytes | None


class WebhookConnection:
    """One connection to a server, opened by the first request and kept between requests. Not thread-safe."""

    def __init__(
        self,
        allowed: AllowedNetworks = (),
        resolve: Resolve = resolve,
        ssl_context: ssl.SSLContext | None = None,
    ) -> None:
        """`allowed` are the deployment's own networks and ports to which URLs may lead."""
        self._allowed = allowed
        self._resolve = resolve
        self._ssl_context = ssl_context
        self._connection: HTTPConnection | None = None
        self._peer: tuple[str, str, int, str] | None = None
        #: The address that answered last, which is tried first.
        self._answered = ""
        self._socket: MeasuredSocket | None = None
        self._used_at = 0.0
        self._target: tuple[str, ParsedTarget] | None = None

    def post(
        self, url: str, body: bytes, headers: Mapping[str, str], *, timeout_seconds: float, max_bytes: int
    ) -> Answered:
        """Sends a POST request. `timeout_seconds` covers everything, from the DNS lookup to the last byte.

        An answer whose head came in time counts, even if its body is incomplete. Raises PostFailed if no answer came.
        """
        deadline = time.monotonic() + timeout_seconds
        with _problems(deadline):
            target = self._checked(url)
            addresses = self._addresses(target, deadline)
            wanted = {(target.scheme, target.host, target.port, address) for address in addresses}
            if self._peer in wanted and self._is_quiet():
                with suppress(*_HUNG_UP):
                    return self._exchange(target, body, headers, deadline, max_bytes)
            self._open(target, addresses, deadline)
            return self._exchange(target, body, headers, deadline, max_bytes)

    def _checked(self, url: str) -> ParsedTarget:
        """Checks and parses a URL; a URL equal to the last one is not checked again. Raises UnsafeAddress for a URL
        that is not permitted.
        """
        if self._target is None or self._target[0] != url:
            self._target = url, check_url(url, allowed=self._allowed)
        return self._target[1]

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = self._socket = self._peer = None

    def _addresses(self, target: ParsedTarget, deadline: float) -> list[str]:
        """Returns the IP addresses of the target's host that we may connect to.

        If some of them are in allowed networks, returns only these. Otherwise returns all if all are public. Raises
        UnsafeAddress if there is none or one is not public, and PostFailed if the lookup fails.
        """
        if is_address(target.host):
            return [target.host]  # checked with the URL
        others_at = resolver().found.others_succeeded_at(target.host)
        try:
            answer = resolver().ask(self._resolve, target.host, target.port, seconds_left(deadline))
            found = list(dict.fromkeys(answer))
        except NoTurn:
            raise PostFailed(PostProblem.TIMEOUT, is_ours=True) from None
        except TimeoutError:
            raise PostFailed(PostProblem.TIMEOUT, is_ours=True, others_at=others_at) from None
        except (OSError, UnicodeError) as error:
            if not (isinstance(error, socket.gaierror) and error.errno == socket.EAI_AGAIN):
                others_at = -math.inf
            raise PostFailed(PostProblem.UNKNOWN_HOST, is_ours=_is_ours(error), others_at=others_at) from None
        inside = [address for address in found if is_allowed(address, target.port, self._allowed)]
        if inside:
            return inside
        # A private address among public ones is an attack or a mistake. Post to neither.
        if not found or not all(map(is_public, found)):
            raise UnsafeAddress("The host is not on the public internet.")
        return found

    def _is_quiet(self) -> bool:
        """Whether the connection is open and nothing has arrived on it since the last answer.

        If something has arrived, be it data or the end of the connection, the server is closing it. A connection that
        was used just now is not checked, and counts as quiet.
        """
        sock = self._connection.sock if self._connection is not None else None
        is_fresh = time.monotonic() - self._used_at < _FRESH_SECONDS
        return sock is not None and (is_fresh or not select([sock], [], [], 0)[0])

    def _open(self, target: ParsedTarget, addresses: Sequence[str], deadline: float) -> None:
        self.close()
        in_turn = sorted(addresses, key=lambda address: address != self._answered)
        sock, address = _dial(target, in_turn, deadline)
        self._answered = address
        is_tls = target.scheme == "https"
        wire = secured(sock, self._context(), target.host) if is_tls else sock
        self._connection = HTTPConnection(target.host, target.port)
        self._connection.auto_open = 0  # reconnecting would resolve the name without a check
        self._connection.sock = wire
        self._socket = sock
        self._peer = (target.scheme, target.host, target.port, address)

    def _context(self) -> ssl.SSLContext:
        return self._ssl_context or trusted()

    def _exchange(
        self, target: ParsedTarget, body: bytes, headers: Mapping[str, str], deadline: float, max_bytes: int
    ) -> Answered:
        connection = self._connection
        assert connection is not None, "opened before"
        assert self._socket is not None
        assert self._peer is not None
        response, keeps = None, False
        try:
            self._socket.allow(deadline, max_bytes)
            all_headers = {"Host": target.authority, "Accept-Encoding": "identity", **headers}
            connection.request("POST", target.target, body, all_headers)
            response = connection.getresponse()
            answer, is_whole = _read(response, max_bytes)
            keeps = is_whole and not response.will_close
            self._used_at = time.monotonic()
            return Answered(response.status, answer if is_public(self._peer[3]) else None)
        finally:
            if response is not None:  # it may hold the socket
                response.close()
            if not keeps:
                self.close()


def _dial(target: ParsedTarget, addresses: Sequence[str], deadline: float) -> tuple[MeasuredSocket, str]:
    """Connects to the first address that answers. Returns the socket and the address.

    If none answers, raises OSError, or PostFailed if a fault of this machine kept us from trying one of them.
    """
    problem: Exception = OSError("no address")
    for number, address in enumerate(addresses):
        seconds = turn_seconds(deadline, len(addresses) - number)
        try:
            sock = socket.create_connection((address, target.port), timeout=seconds)
        except OSError as error:
            if _is_ours(error, address):
                others_at = (
                    _reached.others_succeeded_at(address) if error.errno == errno.ENETUNREACH else -math.inf
                )
                problem = PostFailed(PostProblem.UNREACHABLE, is_ours=True, others_at=others_at)
            elif not isinstance(problem, PostFailed):
                problem = error
        else:
            if ":" not in address and is_public(address):
                _reached.succeeded(address)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return measured(sock, deadline), address
    raise problem


def _read(response: HTTPResponse, max_bytes: int) -> tuple[bytes, bool]:
    """Returns the bytes of the body that arrived, and whether the body is complete."""
    body = bytearray()
    try:
        while len(body) < max_bytes and (piece := response.read1(max_bytes - len(body))):
            body += piece
    except (OSError, HTTPException):
        return bytes(body), False
    return bytes(body), response.isclosed() if response.chunked else response.length == 0


@contextmanager
def _problems(deadline: float) -> Iterator[None]:
    """Turns every error inside the block into PostFailed."""
    try:
        yield
    except UnsafeAddress:
        raise PostFailed(PostProblem.PRIVATE_ADDRESS) from None
    except (OSError, HTTPException, ValueError) as error:
        raise PostFailed(_problem_of(error, deadline), is_ours=_is_ours(error)) from error


def _is_ours(error: Exception, address: str = "") -> bool:
    """Whether an error shows that this machine or its network failed. A missing IPv6 route does not show that, because
    many networks have no IPv6."""
    if isinstance(error, socket.gaierror):
        return error.errno in (socket.EAI_AGAIN, socket.EAI_MEMORY)
    number = error.errno if isinstance(error, OSError) else None
    return number in _SHORTAGES or (number in _NO_WAY and bool(address) and ":" not in address)


def _problem_of(error: Exception, deadline: float) -> PostProblem:
    if isinstance(error, TimeoutError) or time.monotonic() >= deadline:
        return PostProblem.TIMEOUT
    if isinstance(error, ConnectionRefusedError):
        return PostProblem.REFUSED
    if isinstance(error, ssl.SSLError):
        return PostProblem.TLS
    if isinstance(error, ConnectionError):
        return PostProblem.DISCONNECTED
    return PostProblem.UNREACHABLE if isinstance(error, OSError) else PostProblem.PROTOCOL
