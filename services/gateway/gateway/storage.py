"""Object storage as the gateway sees it: presigned addresses to put to and get from. It holds no key of its own."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import structlog
import urllib3
from urllib3.exceptions import HTTPError

from chassis.rpc import unavailable
from contracts.errors import NOT_FOUND, ApiError

log = structlog.get_logger()

#: To connect, for each block to be taken while a file is put, and for each to come. Our choice.
_TIMEOUT = urllib3.Timeout(connect=20.0, read=60.0)
_BLOCK_BYTES = 2**18


class Storage:
    """Thread safe; keeps connections open. Raises ApiError SERVICE_UNAVAILABLE for whatever storage does not do."""

    def __init__(self, connections: int) -> None:
        self._pool = urllib3.PoolManager(num_pools=4, maxsize=connections, timeout=_TIMEOUT, retries=False)

    def put(self, url: str, headers: Mapping[str, str], size_bytes: int, blocks: Iterable[Any]) -> None:
        """Streams `blocks`, `size_bytes` together. Whatever they raise breaks the transfer off: nothing is stored."""
        headers = {**headers, "Content-Length": str(size_bytes)}
        try:
            answer = self._pool.request("PUT", url, body=blocks, headers=headers, redirect=False)
        except (HTTPError, OSError) as error:
            raise _away("put", repr(error)) from error
        if answer.status >= 300:
            raise _away("put", f"status {answer.status}")

    def get(self, url: str, first: int, last: int) -> "Download":
        """The bytes from `first` to `last`, both included. Raises ApiError NOT_FOUND too."""
        headers = {"Range": f"bytes={first}-{last}"}
        try:
            answer = self._pool.request("GET", url, headers=headers, redirect=False, preload_content=False)
        except (HTTPError, OSError) as error:
            raise _away("get", repr(error)) from error
        if _is_span(answer, first, last):
            return Download(answer)
        answer.close()
        if answer.status == 404:
            raise ApiError(NOT_FOUND)
        raise _away("get", f"status {answer.status}")

    def close(self) -> None:
        self._pool.clear()


class Download:
    """The body of an answer, block by block; what is not read of it is not fetched."""

    def __init__(self, answer: urllib3.BaseHTTPResponse) -> None:
        self._answer = answer

    def __iter__(self) -> Iterator[bytes]:
        yield from self._answer.stream(_BLOCK_BYTES, decode_content=False)
        self._answer.release_conn()

    def close(self) -> None:
        self._answer.close()


def _is_span(answer: urllib3.BaseHTTPResponse, first: int, last: int) -> bool:
    """By what it says of its body: rclone answers a range with the range, and with 200."""
    said = answer.headers.get("Content-Range", "")
    length = answer.headers.get("Content-Length")
    return (
        answer.status < 300 and said.startswith(f"bytes {first}-{last}/") and length == str(last - first + 1)
    )


def _away(doing: str, reason: str) -> ApiError:
    log.warning("storage_away", doing=doing, reason=reason[:300])
    return unavailable("The file storage did not answer in time.")
