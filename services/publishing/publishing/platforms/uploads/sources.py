"""Streams files from our own storage to a platform, and files from other servers into our storage."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, partial

import urllib3
from urllib3.exceptions import HTTPError

from chassis.http.outbound import Limits, Outbound, with_system_authorities
from publishing.platforms.base import MediaSource, Opener, PlatformRefusal, Refusal
from publishing.platforms.http_client import transient
from publishing.platforms.uploads.pieces import media_changed

#: Large enough for few reads, small enough for a hundred uploads at once. Our choice.
_CHUNK_BYTES = 256 * 1024
#: How long the storage may be silent before the file counts as unreachable: it may restart meanwhile. The file's length
#: adds to the time limit of the whole transfer.
_LIMITS = Limits(connect_seconds=3.0, silence_seconds=15.0, trusts_length=True)


def stored(source_url: str, size_bytes: int) -> Opener:
    """Returns a function that opens a file at a presigned address of our storage. Never pass an address from a
    client."""
    return partial(_open, source_url, size_bytes)


def store(url: str, headers: Mapping[str, str], size_bytes: int, chunks: Iterable[bytes]) -> None:
    """Stores a file of exactly `size_bytes` at a presigned address of our storage. Raises PlatformRefusal if the
    storage does not take it; an error of `chunks` ends the transfer, and nothing is stored.
    """
    sent = {**headers, "Content-Length": str(size_bytes)}
    try:
        ceiling = _LIMITS.ceiling(size_bytes)
        response = _pool().urlopen("PUT", url, body=chunks, headers=sent, ceiling_seconds=ceiling)
    except (HTTPError, OSError) as error:
        raise _unavailable() from error
    if response.status >= 300:
        raise _unavailable()


def exactly(chunks: Iterator[bytes], size_bytes: int) -> Iterator[bytes]:
    """Yields the chunks of a file. Raises PlatformRefusal if they have more or fewer bytes than the announced
    `size_bytes`."""
    left = size_bytes
    for chunk in chunks:
        left -= len(chunk)
        if left < 0:
            break
        yield chunk
    if left != 0:
        raise media_changed()


def check_bytes(source: MediaSource) -> None:
    """Raises PlatformRefusal unless we have the file's bytes and know how many they are. Called for platforms that do
    not fetch files from an address.
    """
    if not source.has_bytes:
        message = "The file's server does not say how long the file is; upload the file instead."
        raise PlatformRefusal(Refusal.REJECTED, "MEDIA_LENGTH_UNKNOWN", message)


@contextmanager
def _open(source_url: str, size_bytes: int) -> Iterator[Iterator[bytes]]:
    try:
        response = _pool().urlopen("GET", source_url, preload_content=False)
    except (HTTPError, OSError) as error:
        raise _unavailable() from error
    try:
        if response.status == 404:
            raise PlatformRefusal(Refusal.REJECTED, "MEDIA_GONE", "A file of the post is no longer there.")
        if response.status != 200:
            raise _unavailable()
        yield exactly(_chunks(response), size_bytes)
    finally:
        response.close()


def _chunks(response: urllib3.BaseHTTPResponse) -> Iterator[bytes]:
    while True:
        try:
            chunk = response.read(_CHUNK_BYTES, decode_content=False)
        except (HTTPError, OSError) as error:
            raise _unavailable() from error
        if not chunk:
            return
        yield chunk


def _unavailable() -> PlatformRefusal:
    return transient("MEDIA_UNAVAILABLE", "Our storage cannot be reached just now.")


@cache
def _pool() -> Outbound:
    return Outbound(_LIMITS, connections=16, ssl_context=with_system_authorities())
