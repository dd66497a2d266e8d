"""Bytes to and from object storage by addresses that media has signed. What they are is media's business."""

import time
from collections.abc import Iterable, Mapping

import certifi
import urllib3
from urllib3.exceptions import HTTPError

#: Connections kept open; seconds. Our choice.
_POOL_SIZE = 32
_CONNECT_SECONDS, _SILENCE_SECONDS = 5.0, 30.0
_CHUNK_BYTES = 256 * 1024


class StorageFailed(Exception):
    """The bytes are not there, or did not come."""


class Storage:
    """One pool of connections for all buckets."""

    def __init__(self) -> None:
        self._pool = urllib3.PoolManager(
            maxsize=_POOL_SIZE,
            retries=False,
            timeout=urllib3.Timeout(_CONNECT_SECONDS, _SILENCE_SECONDS),
            cert_reqs="CERT_REQUIRED",
            ca_certs=certifi.where(),
        )

    def put(self, url: str, headers: Mapping[str, str], size_bytes: int, chunks: Iterable[bytes]) -> None:
        """Sends exactly `size_bytes`, never all in memory. Raises StorageFailed, and what `chunks` raises."""
        sent = {**headers, "Content-Length": str(size_bytes)}
        try:
            response = self._pool.urlopen(
                "PUT", url, body=_exactly(chunks, size_bytes), headers=sent, redirect=False
            )
        except (HTTPError, OSError) as error:
            raise StorageFailed(f"storage did not take the file: {type(error).__name__}") from error
        if response.status not in (200, 201, 204):
            raise StorageFailed(f"storage answers {response.status}")

    def get(self, url: str, *, max_bytes: int, deadline: float) -> bytes:
        """A whole file of at most `max_bytes`. Raises StorageFailed."""
        body = bytearray()
        try:
            response = self._pool.urlopen("GET", url, redirect=False, preload_content=False)
            try:
                while chunk := response.read1(_CHUNK_BYTES):
                    body += chunk
                    if len(body) > max_bytes or time.monotonic() > deadline:
                        raise StorageFailed("the file is too large or comes too slowly")
            finally:
                response.close()
        except (HTTPError, OSError) as error:
            raise StorageFailed(f"storage did not give the file: {type(error).__name__}") from error
        if response.status != 200:
            raise StorageFailed(f"storage answers {response.status}")
        return bytes(body)


def _exactly(chunks: Iterable[bytes], size_bytes: int) -> Iterable[bytes]:
    """Stops short of what was not announced; a file that ends too early is an error before storage waits for more."""
    left = size_bytes
    for chunk in chunks:
        left -= len(chunk)
        if left < 0:
            raise StorageFailed("the file is longer than announced")
        yield chunk
    if left:
        raise StorageFailed("the file is shorter than announced")
