"""Stores and fetches the bytes of files at presigned addresses. The gateway holds no storage key."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import structlog
import urllib3
from urllib3.exceptions import HTTPError

from chassis.bus.pending import unavailable
from chassis.http.outbound import Limits, Outbound, with_system_authorities
from contracts.errors import NOT_FOUND, ApiError

log = structlog.get_logger()

#: How long storage may be silent before it counts as away. A file's length extends the time limit of the whole
#: transfer. The time that a client takes for its side of a transfer is not counted.
_LIMITS = Limits(connect_seconds=20.0, silence_seconds=60.0, trusts_length=True)
_BLOCK_BYTES = 2**18


class Storage:
    """Stores and fetches files in object storage, over connections that stay open. Thread-safe. Its methods raise
    SERVICE_UNAVAILABLE if the storage does not answer.
    """

    def __init__(self, connections: int) -> None:
        self._pool = Outbound(_LIMITS, connections=connections, ssl_context=with_system_authorities())

    def put(self, url: str, headers: Mapping[str, str], size_bytes: int, blocks: Iterable[Any]) -> None:
        """Stores a file: streams `blocks`, which have `size_bytes` in all, to `url`.

        An error that `blocks` raises ends the transfer, and nothing is stored.
        """
        headers = {**headers, "Content-Length": str(size_bytes)}
        try:
            answer = self._pool.request("PUT", url, body=blocks, headers=headers)
        except (HTTPError, OSError) as error:
            raise _away("put", repr(error)) from error
        if answer.status >= 300:
            raise _away("put", f"status {answer.status}")

    def get(self, url: str, first: int, last: int) -> "Download":
        """Fetches the bytes from `first` to `last`, both included. Raises NOT_FOUND if there is no such file, and
        SERVICE_UNAVAILABLE if the storage does not answer.
        """
        headers = {"Range": f"bytes={first}-{last}"}
        try:
            answer = self._pool.request("GET", url, headers=headers, preload_content=False)
        except (HTTPError, OSError) as error:
            raise _away("get", repr(error)) from error
        if _is_range(answer, first, last):
            return Download(answer)
        answer.close()
        if answer.status == 404:
            raise ApiError(NOT_FOUND)
        raise _away("get", f"status {answer.status}")

    def close(self) -> None:
        self._pool.clear()


class Download:
    """A part of a file while it is fetched from storage, block by block. Blocks that are not read are not fetched."""

    def __init__(self, answer: urllib3.BaseHTTPResponse) -> None:
        self._answer = answer

    def __iter__(self) -> Iterator[bytes]:
        yield from self._answer.stream(_BLOCK_BYTES, decode_content=False)
        self._answer.release_conn()

    def close(self) -> None:
        self._answer.close()


def _is_range(answer: urllib3.BaseHTTPResponse, first: int, last: int) -> bool:
    """Whether an answer is the requested range, by its headers. The status does not show it: rclone answers with
    200."""
    content_range = answer.headers.get("Content-Range", "")
    length = answer.headers.get("Content-Length")
    return (
        answer.status < 300
        and content_range.startswith(f"bytes {first}-{last}/")
        and length == str(last - first + 1)
    )


def _away(operation: str, reason: str) -> ApiError:
    log.warning("storage_away", doing=operation, reason=reason[:300])
    return unavailable("The file storage did not answer in time.")
