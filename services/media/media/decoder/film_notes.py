"""Blanks what encoders write about people into the tracks of a video. All keeps its length, so that nothing moves.

Camcorders (AVCHD) write date, time, place and model between the frames: SEI messages of H.264 named "MDPM" (ExifTool,
"H264 Tags"). Other SEI messages stay, because players need some of them. Vorbis sound has a header of comments.
"""

import mmap
import re
import struct
from collections.abc import Sequence
from typing import Any

#: The UUID of the message, and the name at its beginning.
_MESSAGE = re.compile(re.escape(bytes.fromhex("17ee8c60f84d11d98cd60800200c9a66")) + b"(MDPM)")
#: What precedes it: its type, `user_data_unregistered`, and its size, the sum of these bytes (H.264, annex D).
_TYPE_AND_SIZE = re.compile(rb"\x05(\xff*.)\Z", re.DOTALL)
#: A model's notes have some hundred bytes: this many bytes of a size are enough.
_SIZE_BYTES = 16
#: Not zero: three bytes that begin with two zeros must not come up by chance.
_BLANK = 0xFF
#: The first header of Vorbis sound, of 30 bytes, and the name of the second. That one's size is the sum of the bytes
#: before the first, as in WebM, or stands between the two, as in some MP4s.
_COMMENTS = re.compile(rb"\x1e(\xff*.)?\x01vorbis.{23}(..)?\x03vorbis", re.DOTALL)
#: The size of a header without comments, whose encoder has no name (Vorbis I, 5.2.1).
_NO_COMMENTS_BYTES = 16


def blank_notes(_argument: Any, files: Sequence[int]) -> None:
    """Overwrites the notes of camcorders and the comments of Vorbis in the video `files[0]`, an open descriptor."""
    with mmap.mmap(files[0], 0) as data:
        for message in _MESSAGE.finditer(data):
            uuid, name = message.start(), message.start(1)
            head = _TYPE_AND_SIZE.search(data[max(0, uuid - _SIZE_BYTES - 1) : uuid])
            _blank(data, name, sum(head[1]) - (name - uuid) if head else len(message[1]))
        for header in _COMMENTS.finditer(data):
            laced, plain = header.groups(b"")
            length = (sum(laced) or int.from_bytes(plain, "big")) - _NO_COMMENTS_BYTES
            if 0 <= length <= len(data) - header.end() - 9:
                # The encoder's name becomes so many spaces; no comments; the mark of the end.
                empty = struct.pack(f"<I{length}sIB", length, b" " * length, 0, 1)
                data[header.end() : header.end() + len(empty)] = empty


def _blank(data: mmap.mmap, at: int, length: int) -> None:
    """Overwrites `length` bytes from `at` on. In 0, 0, 3 the 3 does not count (H.264 7.4.1): these three bytes stay."""
    while length > 0 and at < len(data):
        if data[at : at + 3] == b"\0\0\3":
            at, length = at + 3, length - 2
        else:
            data[at] = _BLANK
            at, length = at + 1, length - 1
