"""Blanks what encoders write about people into the tracks of a video. Lengths stay, so that no offset changes.

Camcorders (AVCHD) write date, time, place and model between the frames: SEI messages of H.264 named "MDPM" (ExifTool,
"H264 Tags"). Other SEI messages stay, because players need some of them. Vorbis sound has a header of comments.
"""

import mmap
import re
import struct
from collections.abc import Sequence
from typing import Any

#: The UUID of the message, and its name. Its type, 5, and its size stand before it (H.264, annex D).
_MESSAGE = re.compile(re.escape(bytes.fromhex("17ee8c60f84d11d98cd60800200c9a66")) + b"(MDPM)")
#: The first header of Vorbis sound, and the name of the second, whose size stands between the two, as in some MP4s, or
#: before the first, after the size of that one, 30, as in WebM.
_COMMENTS = re.compile(rb"\x01vorbis.{23}(..)?\x03vorbis", re.DOTALL)
#: Not zero: three bytes that begin with two zeros must not come up by chance.
_BLANK = 0xFF


def blank_notes(_argument: Any, files: Sequence[int]) -> None:
    """Overwrites the notes of camcorders and the comments of Vorbis in the video `files[0]`, an open descriptor."""
    with mmap.mmap(files[0], 0) as data:
        for message in _MESSAGE.finditer(data):
            size = _size_before(data, message.start(), b"\x05")
            _blank(data, message.start(1), max(size - (message.start(1) - message.start()), len(message[1])))
        for header in _COMMENTS.finditer(data):
            size = int.from_bytes(header[1] or b"", "big") or _size_before(data, header.start(), b"\x1e")
            length = size - 16  # of a header without comments, whose encoder has no name (Vorbis I, 5.2.1)
            if 0 <= length <= len(data) - header.end() - 9:
                # The encoder's name becomes so many spaces; no comments; the mark of the end.
                empty = struct.pack(f"<I{length}sIB", length, b" " * length, 0, 1)
                data[header.end() : header.end() + len(empty)] = empty


def _size_before(data: mmap.mmap, at: int, mark: bytes) -> int:
    """Returns the size between `mark` and `at`: the sum of bytes, of which all but the last are 255. 0: none."""
    start = at - 1
    while start > 0 and data[start - 1] == 0xFF:
        start -= 1
    return sum(data[start:at]) if data[max(0, start - 1) : start] == mark else 0


def _blank(data: mmap.mmap, at: int, length: int) -> None:
    """Overwrites `length` bytes from `at` on. In 0, 0, 3 the 3 does not count (H.264 7.4.1): these three bytes stay."""
    while length > 0 and at < len(data):
        if data[at : at + 3] == b"\0\0\3":
            at, length = at + 3, length - 2
        else:
            data[at] = _BLANK
            at, length = at + 1, length - 1
