"""Sends files to object storage and reads them, by the presigned URLs that the media service returns."""

import math
import time
from collections.abc import Iterable, Mapping

from urllib3.exceptions import HTTPError

from chassis.http.outbound import Limits, Outbound, with_system_authorities

#: How many connections are kept open. Further transfers open connections of their own.
_POOL_SIZE = 32
#: After this silence the storage counts as unavailable. A file's length extends the time limit.
_LIMITS = Limits(connect_seconds=5.0, silence_seconds=30.0, trusts_length=True)
_CHUNK_BYTES = 256 * 1024


class StorageError(Exception):
    """Raised when the object storage could not store or return a file."""


class Storage:
    """Transfers files to and from object storage. One pool of connections for all buckets."""

    def __init__(self, limits: Limits = _LIMITS) -> None:
        self._limits = limits
        self._pool = Outbound(limits, connections=_POOL_SIZE, ssl_context=with_system_authorities())

    def put(
        self,
        url: str,
        headers: Mapping[str, str],
        size_bytes: int,
        chunks: Iterable[bytes],
        *,
        deadline: float = math.inf,
    ) -> None:
        """Sends a file of exactly `size_bytes` without holding all of it in memory.

        Ends by `deadline` (by `time.monotonic`), or after the time allowed for a file of this size. Raises
        StorageError if the file could not be stored, and the errors of `chunks`.
        """
        seconds = min(self._limits.ceiling(size_bytes), deadline - time.monotonic())
        if seconds <= 0:
            raise StorageError("no time is left for the file")
        sent = {**headers, "Content-Length": str(size_bytes)}
        try:
            body = _check_length(chunks, size_bytes)
            response = self._pool.urlopen("PUT", url, body=body, headers=sent, ceiling_seconds=seconds)
        except (HTTPError, OSError) as error:
            raise StorageError(f"storage did not accept the file: {type(error).__name__}") from error
        if response.status not in (200, 201, 204):
            raise StorageError(f"storage answers {response.status}")

    def get(self, url: str, *, max_bytes: int, deadline: float) -> bytes:
        """Returns a whole file. Raises StorageError if it cannot be read, is larger than `max_bytes`, or is not read
        completely by `deadline` (by `time.monotonic`).
        """
        body = bytearray()
        try:
            left = deadline - time.monotonic()
            if left <= 0:
                raise StorageError("no time is left for the file")
            response = self._pool.urlopen("GET", url, preload_content=False, ceiling_seconds=left)
            try:
                while chunk := response.read1(_CHUNK_BYTES):
                    body += chunk
                    if len(body) > max_bytes or time.monotonic() > deadline:
                        raise StorageError("the file is too large or arrives too slowly")
            finally:
                response.close()
        except (HTTPError, OSError) as error:
            raise StorageError(f"storage did not return the file: {type(error).__name__}") from error
        if response.status != 200:
            raise StorageError(f"storage answers {response.status}")
        return bytes(body)


def _check_length(chunks: Iterable[bytes], size_bytes: int) -> Iterable[bytes]:
    """Yields the chunks, and raises StorageError as soon as they are longer or shorter than announced."""
    left = size_bytes
    for chunk in chunks:
        left -= len(chunk)
        if left < 0:
            raise StorageError("the file is longer than announced")
        yield chunk
    if left:
        raise StorageError("the file is shorter than announced")
