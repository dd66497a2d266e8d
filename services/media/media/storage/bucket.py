"""The object storage: whatever speaks S3. No rules; what is away or broken is SERVICE_UNAVAILABLE.

Whole files pass through in pieces, never at once. Files are put and fetched by presigned addresses, also by ourselves:
that way no payload is hashed on the event loop.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import IO, Any
from urllib.parse import urlsplit
from xml.etree import ElementTree
from xml.sax.saxutils import escape

import structlog
from minio import Minio
from minio.error import MinioException, S3Error
from urllib3 import BaseHTTPResponse, Retry
from urllib3.exceptions import HTTPError

from chassis.http.outbound import Limits, Outbound, with_system_authorities
from contracts.errors import SERVICE_UNAVAILABLE, ApiError
from media.config import Settings
from media.storage.presigned_urls import Keys, presign_put

log = structlog.get_logger()

PIECE_BYTES = 256 * 1024
#: Nothing under a key ever changes once its address is known.
FOREVER = "public, max-age=31536000, immutable"
#: Silence of the storage before it counts as away (our choice); a file's length adds to the ceiling.
_LIMITS = Limits(connect_seconds=3.0, silence_seconds=30.0, trusts_length=True)
_HOUR = timedelta(hours=1)
#: What the client library takes as parameters of an address; dict is invariant.
_Query = dict[str, str | list[str] | tuple[str]]


class NoSuchUpload(Exception):
    """The storage knows no such upload in parts (any more)."""


class Objects:
    """One bucket."""

    def __init__(self, settings: Settings) -> None:
        self._http = Outbound(
            _LIMITS,
            connections=32,
            ssl_context=with_system_authorities(),
            retries=Retry(2, backoff_factor=0.1, status_forcelist=(502, 503, 504)),
        )
        self._bucket = settings.bucket
        self._public_url = f"{settings.s3_public_url.rstrip('/')}/{settings.bucket}"
        self._keys = Keys(
            access_key=settings.access_key, secret_key=settings.secret_key, region=settings.region
        )
        address = urlsplit(settings.s3_url)
        self._client = Minio(
            address.netloc,
            access_key=settings.access_key,
            secret_key=settings.secret_key,
            region=settings.region,
            secure=address.scheme == "https",
            http_client=self._http,
        )

    def put_address(self, name: str, lasts: timedelta) -> str:
        return self._client.presigned_put_object(self._bucket, name, lasts)

    def get_address(self, name: str, mime_type: str, lasts: timedelta) -> str:
        """For GET alone, Range included; the answer says `mime_type`, whatever the storage made of the name."""
        said: _Query = {"response-content-type": mime_type, "response-cache-control": FOREVER}
        return self._client.presigned_get_object(self._bucket, name, lasts, response_headers=said)

    def put_headers(self, mime_type: str) -> dict[str, str]:
        """What to send along when a file is put."""
        return {"Content-Type": mime_type, "Cache-Control": FOREVER}

    def size(self, name: str) -> int | None:
        """In bytes; None if there is no such object."""
        with _outage():
            try:
                return self._client.stat_object(self._bucket, name).size
            except S3Error as error:
                if error.code in ("NoSuchKey", "NoSuchObject"):
                    return None
                raise

    def read(self, name: str, offset: int, length: int) -> bytes:
        """A range of it, shorter at the end."""
        with _outage():
            response = self._client.get_object(self._bucket, name, offset=offset, length=length)
            try:
                return response.read()
            finally:
                response.close()
                response.release_conn()

    def pieces(self, name: str) -> Iterator[bytes]:
        """All of it, a piece at a time."""
        with _outage():
            response = self._client.get_object(self._bucket, name)
            try:
                yield from response.stream(PIECE_BYTES)
            finally:
                response.close()

    def download(self, name: str, to: IO[bytes]) -> None:
        for piece in self.pieces(name):
            to.write(piece)
        to.flush()

    def put(self, name: str, pieces: Iterable[bytes], size_bytes: int, mime_type: str) -> None:
        """Store `size_bytes` of pieces under the name, in place of what is there: all of it or nothing."""
        headers = self.put_headers(mime_type) | {"Content-Length": str(size_bytes)}
        self._send("PUT", self.put_address(name, _HOUR), body=pieces, headers=headers, retries=False)

    def begin_parts(self, name: str, mime_type: str) -> str:
        """The storage's id of an upload in parts."""
        answer = self._send(
            "POST", self._presigned("POST", name, {"uploads": ""}), headers=self.put_headers(mime_type)
        )
        return _text(ElementTree.fromstring(answer.data), "UploadId")

    def part_address(self, name: str, parts_id: str, number: int, size_bytes: int, lasts: timedelta) -> str:
        """Where a stranger puts one part, of just this size."""
        return presign_put(
            f"{self._public_url}/{name}",
            {"partNumber": str(number), "uploadId": parts_id},
            size_bytes=size_bytes,
            keys=self._keys,
            at=datetime.now(UTC),
            lasts_seconds=int(lasts.total_seconds()),
        )

    def parts(self, name: str, parts_id: str) -> dict[int, tuple[str, int]]:
        """What has been put so far: number → etag without quotes, size in bytes. Raises NoSuchUpload."""
        # A page holds 1,000; no upload of ours has more.
        answer = self._send("GET", self._presigned("GET", name, {"uploadId": parts_id}), known=404)
        if answer.status == 404:
            raise NoSuchUpload
        return {
            int(_text(part, "PartNumber")): (_text(part, "ETag").strip('"'), int(_text(part, "Size")))
            for part in ElementTree.fromstring(answer.data).iter()
            if _tag(part) == "Part"
        }

    def complete_parts(self, name: str, parts_id: str, tags: Iterable[tuple[int, str]]) -> None:
        """Put the parts together, in order of their numbers. Raises NoSuchUpload."""
        listed = "".join(
            f'<Part><PartNumber>{number}</PartNumber><ETag>"{escape(tag)}"</ETag></Part>'
            for number, tag in tags
        )
        body = f"<CompleteMultipartUpload>{listed}</CompleteMultipartUpload>".encode()
        url = self._presigned("POST", name, {"uploadId": parts_id})
        answer = self._send("POST", url, body=body, known=404, retries=False)
        if (
            answer.status >= 400 or b"<Error>" in answer.data
        ):  # it may say 200 first, and in the body that it failed
            raise NoSuchUpload(answer.data[:500].decode(errors="replace"))

    def abort_parts(self, name: str, parts_id: str) -> None:
        """Forget an upload in parts; nothing happens if there is none."""
        self._send("DELETE", self._presigned("DELETE", name, {"uploadId": parts_id}), known=404)

    def remove_key(self, key: str) -> None:
        """Everything stored under a key; nothing happens if there is nothing."""
        with _outage():
            for found in self._client.list_objects(self._bucket, prefix=f"{key}/", recursive=True):
                self._client.remove_object(self._bucket, str(found.object_name))

    def names(self, after: str | None = None) -> Iterator[tuple[str, datetime]]:
        """In order, the objects behind a name and when they were stored (real time), fetched in pages."""
        with _outage():
            for found in self._client.list_objects(self._bucket, recursive=True, start_after=after):
                if found.object_name and found.last_modified:
                    yield found.object_name, found.last_modified

    def _presigned(self, method: str, name: str, query: dict[str, str]) -> str:
        said: _Query = {**query}
        return self._client.get_presigned_url(method, self._bucket, name, _HOUR, extra_query_params=said)

    def _send(self, method: str, url: str, *, known: int | None = None, **options: Any) -> BaseHTTPResponse:
        """Raises SERVICE_UNAVAILABLE; an answer of the class of `known` (400 to 499) is given back."""
        with _outage():
            answer = self._http.request(method, url, **options)
            if answer.status >= 500 or (answer.status >= 400 and known is None):
                raise HTTPError(f"{method}: {answer.status} {answer.data[:500]!r}")
            return answer


@contextmanager
def _outage() -> Iterator[None]:
    try:
        yield
    except (MinioException, HTTPError, OSError) as error:
        log.warning("storage_failed", error=str(error)[:500])
        raise ApiError(SERVICE_UNAVAILABLE, retry_after_seconds=2) from error


def _tag(element: ElementTree.Element) -> str:
    """Its name, whatever its namespace."""
    return element.tag.rpartition("}")[2]


def _text(within: ElementTree.Element, name: str) -> str:
    """The text of the first element of that name."""
    for element in within.iter():
        if _tag(element) == name and element.text:
            return element.text
    raise HTTPError(f"no {name} in the storage's answer")
