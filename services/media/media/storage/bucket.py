"""The S3 client. Raises SERVICE_UNAVAILABLE if the storage fails. Puts by presigned URLs, which need no hash."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import IO, Any
from urllib.parse import urlsplit
from xml.etree import ElementTree
from xml.sax.saxutils import escape

import structlog
from minio import Minio
from minio.datatypes import ListPartsResult
from minio.error import MinioException, S3Error
from minio.xml import findtext
from urllib3 import BaseHTTPResponse, Retry
from urllib3.exceptions import HTTPError

from chassis.http.outbound import Limits, Outbound, with_system_authorities
from contracts.errors import SERVICE_UNAVAILABLE, ApiError
from media.config import Settings
from media.storage.presigned_urls import presign_put

log = structlog.get_logger()

_PIECE_BYTES = 256 * 1024
#: Content under a key never changes once its address is known.
FOREVER = "public, max-age=31536000, immutable"
#: After this silence, and the time for a file's length, the storage counts as away. Our choice: clients wait a minute.
_LIMITS = Limits(connect_seconds=3.0, silence_seconds=30.0, trusts_length=True)
#: How long URLs for our own services are valid. Our choice.
_HOUR = timedelta(hours=1)
#: The query parameters' type in the client library; dict is invariant.
_Query = dict[str, str | list[str] | tuple[str]]


class NoSuchUpload(Exception):
    """Raised when the storage no longer knows this multipart upload."""


class Bucket:
    """The objects in one bucket of the storage."""

    def __init__(self, settings: Settings) -> None:
        self._http = Outbound(
            _LIMITS,
            connections=32,
            ssl_context=with_system_authorities(),
            retries=Retry(2, backoff_factor=0.1, status_forcelist=(502, 503, 504)),
        )
        self._bucket, self._settings = settings.bucket, settings
        address = urlsplit(settings.s3_url)
        self._client = Minio(
            address.netloc,
            access_key=settings.access_key,
            secret_key=settings.secret_key,
            region=settings.region,
            secure=address.scheme == "https",
            http_client=self._http,
        )

    def put_url(self, name: str, valid_for: timedelta) -> str:
        return self._client.presigned_put_object(self._bucket, name, valid_for)

    def get_url(self, name: str, mime_type: str) -> str:
        """Returns a URL with which the object can be read for an hour. The response has this `mime_type`."""
        said: _Query = {"response-content-type": mime_type, "response-cache-control": FOREVER}
        return self._client.presigned_get_object(self._bucket, name, _HOUR, response_headers=said)

    def put_headers(self, mime_type: str) -> dict[str, str]:
        """Returns the headers with which a client must send the file to a put URL."""
        return {"Content-Type": mime_type, "Cache-Control": FOREVER}

    def size(self, name: str) -> int | None:
        """Returns the object's size in bytes; None if there is no such object."""
        with _outages_as_unavailable():
            try:
                return self._client.stat_object(self._bucket, name).size
            except S3Error as error:
                if error.code in ("NoSuchKey", "NoSuchObject"):
                    return None
                raise

    def read(self, name: str, offset: int, length: int) -> bytes:
        """Returns `length` bytes of the object from `offset` on, or fewer at its end."""
        get = self._client.get_object
        with _outages_as_unavailable(), get(self._bucket, name, offset=offset, length=length) as response:
            return response.read()

    def pieces(self, name: str) -> Iterator[bytes]:
        """Yields the whole object in chunks."""
        with _outages_as_unavailable(), self._client.get_object(self._bucket, name) as response:
            yield from response.stream(_PIECE_BYTES)

    def download(self, name: str, to: IO[bytes]) -> None:
        for piece in self.pieces(name):
            to.write(piece)
        to.flush()

    def put(self, name: str, file: IO[bytes], mime_type: str) -> int:
        """Stores the whole file as the object, completely or not at all. Returns the file's size in bytes."""
        size_bytes = file.seek(0, 2)
        file.seek(0)
        pieces = iter(partial(file.read, _PIECE_BYTES), b"")
        headers = self.put_headers(mime_type) | {"Content-Length": str(size_bytes)}
        self._send("PUT", name, {}, body=pieces, headers=headers, retries=False)
        return size_bytes

    def begin_parts(self, name: str, mime_type: str) -> str:
        """Begins a multipart upload and returns the id that the storage gave it."""
        answer = self._send("POST", name, {"uploads": ""}, headers=self.put_headers(mime_type))
        return str(findtext(ElementTree.fromstring(answer.data), "UploadId", strict=True))

    def part_url(self, name: str, parts_id: str, number: int, size_bytes: int, valid_for: timedelta) -> str:
        """Returns the URL where a client puts one part of exactly this size."""
        url = f"{self._settings.s3_public_url.rstrip('/')}/{self._bucket}/{name}"
        part = {"partNumber": str(number), "uploadId": parts_id}
        return presign_put(url, part, size_bytes, self._settings, datetime.now(UTC), valid_for)

    def parts(self, name: str, parts_id: str) -> dict[int, tuple[str, int]]:
        """Returns the uploaded parts: number → (etag without quotes, size in bytes). Raises NoSuchUpload."""
        # A page holds 1,000 parts; no upload of ours has more.
        answer = self._send("GET", name, {"uploadId": parts_id}, returns_4xx=True)
        if answer.status == 404:
            raise NoSuchUpload
        return {it.part_number: (it.etag, it.size or 0) for it in ListPartsResult(answer).parts}

    def complete_parts(self, name: str, parts_id: str, tags: Iterable[tuple[int, str]]) -> None:
        """Assembles the parts, given as (number, etag), in order of their numbers. Raises NoSuchUpload."""
        part = '<Part><PartNumber>{}</PartNumber><ETag>"{}"</ETag></Part>'
        listed = "".join(part.format(number, escape(tag)) for number, tag in tags)
        body = f"<CompleteMultipartUpload>{listed}</CompleteMultipartUpload>".encode()
        answer = self._send("POST", name, {"uploadId": parts_id}, body=body, returns_4xx=True, retries=False)
        # S3 may send 200 first and report the failure in the body.
        if answer.status >= 400 or b"<Error>" in answer.data:
            raise NoSuchUpload(answer.data[:500].decode(errors="replace"))

    def abort_parts(self, name: str, parts_id: str) -> None:
        """Aborts a multipart upload, if there is one."""
        self._send("DELETE", name, {"uploadId": parts_id}, returns_4xx=True)

    def remove_key(self, key: str) -> None:
        """Deletes every object under a key."""
        with _outages_as_unavailable():
            for found in self._client.list_objects(self._bucket, prefix=f"{key}/", recursive=True):
                self._client.remove_object(self._bucket, str(found.object_name))

    def remove(self, name: str) -> None:
        """Deletes one object, if there is one."""
        with _outages_as_unavailable():
            self._client.remove_object(self._bucket, name)

    def names(self, after: str | None = None) -> Iterator[tuple[str, datetime]]:
        """Yields the names of all objects after `after`, in order, each with the real time at which it was stored."""
        with _outages_as_unavailable():
            for found in self._client.list_objects(self._bucket, recursive=True, start_after=after):
                if found.object_name and found.last_modified:
                    yield found.object_name, found.last_modified

    def _send(
        self, method: str, name: str, query: _Query, *, returns_4xx: bool = False, **options: Any
    ) -> BaseHTTPResponse:
        """Sends a request about an object. Raises SERVICE_UNAVAILABLE for a status from 400 (`returns_4xx`: 500) on."""
        url = self._client.get_presigned_url(method, self._bucket, name, _HOUR, extra_query_params=query)
        with _outages_as_unavailable():
            answer = self._http.request(method, url, **options)
            if answer.status >= 500 or (answer.status >= 400 and not returns_4xx):
                raise HTTPError(f"{method}: {answer.status} {answer.data[:500]!r}")
            return answer


@contextmanager
def _outages_as_unavailable() -> Iterator[None]:
    try:
        yield
    except (MinioException, HTTPError, OSError) as error:
        log.warning("storage_failed", error=str(error)[:500])
        raise ApiError(SERVICE_UNAVAILABLE, retry_after_seconds=2) from error
