"""A multipart form with one file, generated piece by piece while it is sent."""

import secrets
from collections.abc import Iterator, Mapping
from typing import Any

import urllib3

from publishing.platforms.base import MediaSource


class Multipart:
    """The body of a multipart form, which can be sent once (`http_client.SizedBody`).

    An error while reading the file is passed on.
    """

    def __init__(self, fields: Mapping[str, Any], file_name: str, source: MediaSource) -> None:
        boundary = secrets.token_hex(16)
        self._tail = f"\r\n--{boundary}--\r\n".encode()
        empty = ("file", b"", source.content_type or "application/octet-stream")
        parts = {name: str(value) for name, value in fields.items()} | {file_name: empty}
        form, self.content_type = urllib3.encode_multipart_formdata(parts, boundary)
        self._head = form[: -len(self._tail)]
        self._source = source
        self.length_bytes = len(form) + source.length_bytes
        self.is_sent = False

    def __iter__(self) -> Iterator[bytes]:
        yield self._head
        with self._source.open() as chunks:
            yield from chunks
        yield self._tail
        self.is_sent = True
