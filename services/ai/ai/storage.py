"""Bytes to and from object storage by addresses that media has signed. What they are is media's business."""

import math
import time
from collections.abc import Iterable, Mapping

from urllib3.exceptions import HTTPError

from chassis.http.outbound import Limits, Outbound

#: Connections kept open. Our choice.
_POOL_SIZE = 32
#: Silence of the storage before it counts as away (our choice); a file's length adds to the ceiling.
_LIMITS = Limits(connect_seconds=5.0, silence_seconds=30.0, trusts_length=True)
_CHUNK_BYTES = 256 * 1024


class StorageFailed(Exception):
    """The bytes are not there, or did not come."""


class Storage:
    """One pool of connections for all buckets."""

    def __init__(self, limits: Limits = _LIMITS) -> None:
        self._limits = limits
        self._pool = Outbound(limits, connections=_POOL_SIZE)

    def put(
        self,
        url: str,
        headers: Mapping[str, str],
        size_bytes: int,
        chunks: Iterable[bytes],
        *,
        deadline: float = math.inf,
    ) -> None:
        """Sends exactly `size_bytes`, never all in memory, and waits for the storage until the deadline at most (of
        `time.monotonic`), or as long as suits the size. Raises StorageFailed, and what `chunks` raises."""
        seconds = min(self._limits.ceiling(size_bytes), deadline - time.monotonic())
        if seconds <= 0:
            raise StorageFailed("no time is left for the file")
        sent = {**headers, "Content-Length": str(size_bytes)}
        try:
            body = _exactly(chunks, size_bytes)
            response = self._pool.urlopen("PUT", url, body=body, headers=sent, ceiling_seconds=seconds)
        except (HTTPError, OSError) as error:
            raise StorageFailed(f"storage did not take the file: {type(error).__name__}") from error
        if response.status not in (200, 201, 204):
            raise StorageFailed(f"storage answers {response.status}")

    def get(self, url: str, *, max_bytes: int, deadline: float) -> bytes:
        """A whole file of at most `max_bytes`. Raises StorageFailed."""
        body = bytearray()
        try:
            left = deadline - time.monotonic()
            if left <= 0:
                raise StorageFailed("no time is left for the file")
            response = self._pool.urlopen("GET", url, preload_content=False, ceiling_seconds=left)
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
