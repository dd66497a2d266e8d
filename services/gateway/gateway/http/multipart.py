"""Parses multipart/form-data (RFC 7578) as it arrives, without holding it in memory.

It does no I/O of its own: the caller passes a function `read`, which returns the next bytes of the body.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from werkzeug.http import parse_options_header

from contracts.errors import UPLOAD_ERROR, ApiError

#: Bytes per read. Our choice: larger blocks are not faster, and each running upload holds one.
BLOCK_BYTES = 2**18
#: Largest head of a part: a file name and a type need less than 1 KiB.
MAX_HEAD_BYTES = 16 * 1024
#: Most bytes before the file's content: preamble, other parts, all heads. The API has no other part; libraries add a
#: few small ones.
MAX_SKIPPED_BYTES = 64 * 1024
#: RFC 2046, 5.1.1.
_BOUNDARY = re.compile(r"[0-9A-Za-z'()+_,./:=? -]{0,69}[0-9A-Za-z'()+_,./:=?-]", re.ASCII)
_FOLDED = re.compile(rb"\r\n[ \t]+")


def malformed(message: str) -> ApiError:
    return ApiError(UPLOAD_ERROR, message)


def boundary_of(content_type: str) -> bytes:
    """Returns the boundary of a multipart body. Raises UPLOAD_ERROR when there is none."""
    _, options = parse_options_header(content_type)
    boundary = options.get("boundary", "")
    if not _BOUNDARY.fullmatch(boundary):
        raise malformed("The Content-Type header has no valid boundary.")
    return boundary.encode()


@dataclass(frozen=True, slots=True)
class Part:
    """The headers of one part of a multipart body."""

    name: str
    #: None: the part is a plain value.
    filename: str | None
    #: Lower case, without parameters; "" when there is none.
    mime_type: str


class Multipart:
    """Reads the parts of a multipart body in order.

    For each part, call `next_part`, then either read all of `content` or call `skip`. All three raise UPLOAD_ERROR if
    the body is malformed or ends early.
    """

    def __init__(self, read: Callable[[int], bytes], boundary: bytes) -> None:
        self.delimiter = b"\r\n--" + boundary
        #: How many bytes are parsed. It begins at -2, for the line break added before the first boundary.
        self.position = -2
        self._read = read
        self._buffer = b"\r\n"
        self._begun = False
        self._skipped_bytes = 0

    def next_part(self) -> Part | None:
        """Reads on to the next part and returns its headers; None after the closing boundary."""
        if not self._begun:
            self._begun = True
            self.skip()
        self._fill_until(2)
        if self._buffer.startswith(b"--"):
            self._take(2)
            return None
        end = self._find_in_head(b"\r\n\r\n")
        self._count_skipped(end)
        padding, _, head = bytes(self._take(end + 4)[:-4]).partition(b"\r\n")
        if padding.strip(b" \t"):
            raise malformed("A boundary must be followed by a line break.")
        return _part(_FOLDED.sub(b" ", head))

    def content(self) -> Iterator[memoryview]:
        """Yields the bytes of the present part as they arrive, up to the next boundary."""
        keep = len(self.delimiter) - 1
        while (end := self._buffer.find(self.delimiter)) < 0:
            if len(self._buffer) > keep:
                yield self._take(len(self._buffer) - keep)
            self._fill()
        if end:
            yield self._take(end)
        self._take(len(self.delimiter))

    def skip(self) -> None:
        """Discards the content of the present part. All discarded contents and the heads of all parts together may have
        at most 64 KiB.
        """
        for block in self.content():
            self._count_skipped(len(block))

    def _count_skipped(self, size_bytes: int) -> None:
        self._skipped_bytes += size_bytes
        if self._skipped_bytes > MAX_SKIPPED_BYTES:
            raise malformed("More than 64 KiB come before the part named file; send less before it.")

    def _find_in_head(self, needle: bytes) -> int:
        while (found := self._buffer.find(needle)) < 0:
            if len(self._buffer) > MAX_HEAD_BYTES:
                raise malformed("The headers of a part are larger than 16 KiB.")
            self._fill()
        return found

    def _fill_until(self, size: int) -> None:
        while len(self._buffer) < size:
            self._fill()

    def _fill(self) -> None:
        block = self._read(BLOCK_BYTES)
        if not block:
            raise malformed("The request body ended before its closing boundary, or took too long to arrive.")
        self._buffer += block

    def _take(self, count: int) -> memoryview:
        taken = memoryview(self._buffer)[:count]
        self._buffer = self._buffer[count:]
        self.position += count
        return taken


def _part(head: bytes) -> Part:
    headers: dict[str, str] = {}
    for line in head.decode(errors="replace").split("\r\n"):
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    kind, options = parse_options_header(headers.get("content-disposition", ""))
    if kind != "form-data" or "name" not in options:
        raise malformed("Each part needs a Content-Disposition header: form-data with a name.")
    mime_type = headers.get("content-type", "").partition(";")[0].strip().lower()
    return Part(name=options["name"], filename=options.get("filename"), mime_type=mime_type)
