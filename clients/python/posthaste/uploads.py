"""Uploads files, either in one request, or in parts straight into the storage. Does no network I/O itself.

If an answer is lost during an upload in parts, the call is repeated, and the upload still takes effect once. An upload
in one request is not repeated then, because the API takes no idempotency key for it.
"""

from __future__ import annotations

import io
import mimetypes
import os
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from posthaste import records
from posthaste.errors import PosthasteError
from posthaste.exchange import BASE_PATH, Call, Flow, Send, Settings, exchange, path_of, send

#: What can be uploaded: a path, the bytes, or an open file that can be read again from its beginning.
File = str | os.PathLike[str] | bytes | BinaryIO
#: Called with the bytes sent so far and the size of the file.
Progress = Callable[[int, int], None]

#: Larger files go in parts: a lost connection then costs one part.
PARTS_FROM_BYTES = 8 * 2**20
_BLOCK_BYTES = 64 * 1024


class UploadFailed(PosthasteError):
    """Raised when the storage refuses a part of a file, or when the file becomes shorter during the upload. Start the
    upload again.
    """


@dataclass
class Source:
    """An open file, with its name, type and size for the API."""

    file: BinaryIO
    size_bytes: int
    filename: str
    mime_type: str


@contextmanager
def opened(file: File, filename: str | None, mime_type: str | None) -> Iterator[Source]:
    """Opens a file to upload. Raises OSError if that fails, ValueError if the file has no name."""
    with _stream(file) as stream:
        name = filename or (Path(file).name if isinstance(file, (str, os.PathLike)) else "")
        if not name and isinstance(getattr(stream, "name", None), str):
            name = Path(stream.name).name
        if not name:
            raise ValueError("Pass filename: the bytes have no name")
        size_bytes = stream.seek(0, io.SEEK_END)
        guessed = mimetypes.guess_type(name)[0]
        yield Source(stream, size_bytes, name, mime_type or guessed or "application/octet-stream")


@contextmanager
def _stream(file: File) -> Iterator[BinaryIO]:
    if isinstance(file, bytes):
        yield io.BytesIO(file)
    elif isinstance(file, (str, os.PathLike)):
        with open(file, "rb") as stream:
            yield stream
    else:
        yield file


def upload(
    source: Source, settings: Settings, *, in_parts: bool | None, on_progress: Progress | None
) -> Flow[records.UploadedMedia]:
    """Uploads a file. Raises the errors of `exchange`, and UploadFailed if the storage refuses a part or the file
    becomes shorter meanwhile.
    """
    tell = on_progress or (lambda sent, size: None)
    if in_parts if in_parts is not None else source.size_bytes > PARTS_FROM_BYTES:
        return (yield from _in_parts(source, settings, tell))
    return (yield from _straight(source, settings, tell))


def _straight(source: Source, settings: Settings, tell: Progress) -> Flow[records.UploadedMedia]:
    content = _Multipart(source, tell)
    call = Call("POST", BASE_PATH + "/media/upload", records.UploadedMedia, content=content)
    return (yield from exchange(call, settings))


def _in_parts(source: Source, settings: Settings, tell: Progress) -> Flow[records.UploadedMedia]:
    body = {"filename": source.filename, "mime_type": source.mime_type, "size_bytes": source.size_bytes}
    begun = yield from exchange(
        Call("POST", BASE_PATH + "/media/uploads", records.UploadParts, body=body, keyed=True), settings
    )
    tags = []
    for part in begun.parts:
        start = (part.number - 1) * begun.part_size_bytes
        size_bytes = min(begun.part_size_bytes, source.size_bytes - start)
        content = _Part(source, start, size_bytes, tell)
        answer = yield from send(Send("PUT", part.url, {}, content), settings.retries, repeatable=True)
        if answer.status != 200 or "etag" not in answer.headers:
            raise UploadFailed(f"The storage answered {answer.status} to part {part.number} of the file")
        tags.append({"number": part.number, "etag": answer.headers["etag"]})
    done = path_of(BASE_PATH + "/media/uploads/{id}/complete", id=begun.upload_id)
    call = Call("POST", done, records.UploadedMedia, body={"parts": tags}, keyed=True)
    return (yield from exchange(call, settings))


@dataclass
class _Part:
    """A section of a file, as the body of a request. It has no content type, because the storage's URLs are signed
    without one.
    """

    source: Source
    start: int
    size_bytes: int
    tell: Progress
    content_type: str = ""

    def blocks(self) -> Iterator[bytes]:
        file, left = self.source.file, self.size_bytes
        file.seek(self.start)
        while left:
            block = file.read(min(_BLOCK_BYTES, left))
            if not block:
                raise UploadFailed("The file became shorter while it was sent")
            left -= len(block)
            yield block
            self.tell(self.start + self.size_bytes - left, self.source.size_bytes)


class _Multipart:
    """The body of POST /media/upload."""

    def __init__(self, source: Source, tell: Progress) -> None:
        boundary = uuid.uuid4().hex
        name = source.filename.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")
        self._head = (
            f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n'
            f"Content-Type: {source.mime_type}\r\n\r\n"
        ).encode()
        self._tail = f"\r\n--{boundary}--\r\n".encode()
        self._part = _Part(source, 0, source.size_bytes, tell)
        self.content_type = f"multipart/form-data; boundary={boundary}"
        self.size_bytes = len(self._head) + source.size_bytes + len(self._tail)

    def blocks(self) -> Iterator[bytes]:
        yield self._head
        yield from self._part.blocks()
        yield self._tail
