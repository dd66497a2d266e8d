"""Calls to servers that the configuration names (platforms, providers, object storage), over connections that are kept
open.

Every call has a ceiling: the longest time in all for which the caller waits for the server. urllib3's own timeouts
start again with each byte, so a server that moves a byte now and then could block its caller for ever. For addresses
given by strangers use `guarded_client` and `webhook_connection`.
"""

import math
import os
import ssl
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import certifi
import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import ConnectTimeoutError
from urllib3.response import BaseHTTPResponse, HTTPResponse
from urllib3.util.ssl_ import create_urllib3_context

from chassis.http.guarded_client import trusted
from chassis.http.measured_socket import MeasuredSocket, measured, secured

#: The slowest transfer that still succeeds. Our choice: half the rate of the slowest upload that has to work, a photo
#: at 200 kB/s.
SLOWEST_BYTES_PER_SECOND = 100_000.0
#: A connection that was idle for longer is not used again: its server may be closing it at that moment, and then it is
#: unknown whether the call arrived. Below the shortest usual keep-alive timeout of servers, 5 s (defaults of Node and
#: Apache).
MAX_REST_SECONDS = 4.0


@dataclass(frozen=True, slots=True)
class Limits:
    """How long a server may make us wait, in seconds."""

    #: Time to connect to one address of the host. The TLS handshake may take the same time again.
    connect_seconds: float
    #: Longest time without any byte, and the ceiling of a call with a small body.
    silence_seconds: float
    #: Rate that a body adds to the ceiling.
    bytes_per_second: float = SLOWEST_BYTES_PER_SECOND
    #: The largest answer, approximately: the framing counts too. A larger one raises ProtocolError.
    max_answer_bytes: float = math.inf
    #: Whether an answer's announced length adds to the ceiling too. Only for downloads from our own storage, because
    #: any other server could announce an endless body.
    trusts_length: bool = False

    def ceiling(self, size_bytes: int) -> float:
        """Returns the ceiling of a call with a body of this size: how many seconds it waits for the server in all."""
        return self.silence_seconds + size_bytes / self.bytes_per_second


class Outbound(urllib3.PoolManager):
    """A connection pool that ends each call at its ceiling (seconds of waiting). Thread-safe. Follows no redirects and
    uses no proxies.

    Only the time for which we wait for the server counts, not the time in which we create a body or use an answer. A
    call that reaches its ceiling raises urllib3's ProtocolError or ReadTimeoutError with a TimeoutError as cause.
    """

    def __init__(
        self,
        limits: Limits,
        *,
        connections: int,
        ssl_context: ssl.SSLContext | None = None,
        retries: urllib3.Retry | bool = False,
    ) -> None:
        """Makes a pool that keeps up to `connections` open for each host.

        Without `ssl_context`, it trusts the public authorities. urllib3 repeats failed calls as `retries` says; the
        ceiling applies to each repetition separately.
        """
        silence = None if math.isinf(limits.silence_seconds) else limits.silence_seconds
        super().__init__(
            maxsize=connections,
            retries=retries,
            timeout=urllib3.Timeout(connect=limits.connect_seconds, read=silence),
            ssl_context=ssl_context or trusted(),
        )
        self.pool_classes_by_scheme = {"http": _Pool, "https": _SecurePool}
        self._limits = limits

    def urlopen(  # type: ignore[override]
        self,
        method: str,
        url: str,
        redirect: bool = False,
        *,
        ceiling_seconds: float | None = None,
        **options: Any,
    ) -> BaseHTTPResponse:
        """Sends a request as PoolManager.urlopen does.

        `ceiling_seconds` replaces the ceiling computed from the body's size.
        """
        with _calling(self._limits, ceiling_seconds):
            return super().urlopen(method, url, redirect=redirect, **options)


def with_system_authorities() -> ssl.SSLContext:
    """Returns a TLS context that trusts the public authorities and those of the system.

    Used for a storage whose certificate the operator has issued. When the system's files change, the next call returns
    a context that trusts the new ones; earlier contexts stay as they are.
    """
    system = ssl.get_default_verify_paths()
    return _with_authorities_of(system, _version_of(system.cafile), _version_of(system.capath))


def _version_of(path: str | None) -> tuple[int, int, int] | None:
    """Returns values that change whenever the file or folder at `path` changes; None if nothing is there."""
    try:
        found = os.stat(path or "")
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


@lru_cache(maxsize=4)
def _with_authorities_of(_system: ssl.DefaultVerifyPaths, *_versions: object) -> ssl.SSLContext:
    """Returns a TLS context that trusts certifi's certificates and the system's. A new one is made only after the
    system's certificate files have changed (`_versions`), because reading all certificates takes 40 ms of CPU.
    """
    context = create_urllib3_context()
    context.load_verify_locations(cafile=certifi.where())
    context.load_default_certs()
    return context


@dataclass(frozen=True, slots=True)
class _Call:
    """The limits of the running call. Held in a context variable, because urllib3 cannot pass them to the
    connection."""

    limits: Limits
    ceiling_seconds: float | None


_call: ContextVar[_Call] = ContextVar("outbound_call")


@contextmanager
def _calling(limits: Limits, ceiling_seconds: float | None) -> Iterator[None]:
    token = _call.set(_Call(limits, ceiling_seconds))
    try:
        yield
    finally:
        _call.reset(token)


class _Connection(HTTPConnection):
    """An HTTP connection whose socket ends a call when the server has made us wait for too long."""

    _measured: MeasuredSocket
    #: When the answer to the latest call began (monotonic), or infinity for a new connection.
    _rests_since = math.inf

    def _new_conn(self) -> Any:
        assert isinstance(self.timeout, float | int), "the pool sets the time for connecting"
        sock = super()._new_conn()
        self._rests_since = math.inf
        # From now on: attempts at earlier addresses of the name may have taken time.
        self._measured = measured(sock, time.monotonic() + self.timeout)
        return self._measured

    def request(  # type: ignore[override]
        self,
        method: str,
        url: str,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        **options: Any,
    ) -> None:
        if self.sock is not None and time.monotonic() - self._rests_since > MAX_REST_SECONDS:
            self.close()
        if self.sock is None:
            self.connect()
        call = _call.get()
        seconds = call.ceiling_seconds
        if seconds is None:
            seconds = call.limits.ceiling(_length(body, headers or {}))
        self._measured.allow(
            time.monotonic() + seconds,
            call.limits.max_answer_bytes,
            # The end of the request's body may stay in our own kernel's buffer until the ceiling.
            read_seconds=max(seconds, call.limits.silence_seconds),
            send_seconds=call.limits.silence_seconds,
            counts_our_time=False,
        )
        super().request(method, url, body=body, headers=headers, **options)

    def getresponse(self) -> HTTPResponse:  # type: ignore[override]
        response = super().getresponse()
        self._rests_since = time.monotonic()
        limits = _call.get().limits
        if limits.trusts_length:
            announced = response.headers.get("Content-Length", "")
            size_bytes = int(announced) if announced.isascii() and announced.isdigit() else 0
            self._measured.extend(size_bytes / limits.bytes_per_second)
        return response


class _SecureConnection(_Connection, HTTPSConnection):
    def connect(self) -> None:
        """Connects and does the TLS handshake.

        If the handshake takes too long, raises ConnectTimeoutError, which says that no request was sent.
        """
        assert self.ssl_context is not None, "given to the pool"
        sock = self._new_conn()
        try:
            self.sock = secured(sock, self.ssl_context, self.host)
        except TimeoutError as error:
            raise ConnectTimeoutError(self, f"The TLS handshake with {self.host} timed out.") from error
        self.is_verified = True


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection


class _SecurePool(HTTPSConnectionPool):
    ConnectionCls = _SecureConnection


def _length(body: Any, headers: Mapping[str, str]) -> int:
    """Returns the size of a request's body in bytes, from the body itself or from Content-Length."""
    if isinstance(body, bytes):
        return len(body)
    announced = str(headers.get("Content-Length", ""))
    return int(announced) if announced.isascii() and announced.isdigit() else 0
