"""Blanks the notes that camcorders (AVCHD) write between the frames of a video: date, time, place and model. They are
SEI messages of H.264 named "MDPM" (ExifTool, "H264 Tags"). They keep their length, so that nothing moves. Other SEI
messages stay, because players need some of them.
"""

import mmap
from collections.abc import Sequence
from typing import Any

#: The UUID of the message, and the name at its beginning.
_UUID, _NAME = bytes.fromhex("17ee8c60f84d11d98cd60800200c9a66"), b"MDPM"
#: `user_data_unregistered` (H.264, annex D).
_UNREGISTERED = 5
#: A model's notes have some hundred bytes. A much larger figure is not a size.
_MOST_BYTES = 4_096
#: Not zero: three bytes that begin with two zeros must not come up by chance.
_BLANK = 0xFF


def blank_camcorder_notes(_argument: Any, files: Sequence[int]) -> int:
    """Overwrites the notes of a camcorder in the video `files[0]`, an open descriptor. Returns how many there were."""
    count = 0
    with mmap.mmap(files[0], 0) as data:
        at = data.find(_UUID + _NAME)
        while at >= 0:
            count += 1
            _blank(data, at + len(_UUID), _size(data, at) - len(_UUID))
            at = data.find(_UUID + _NAME, at + len(_UUID))
    return count


def _size(data: mmap.mmap, at: int) -> int:
    """Returns the size of the message whose content begins at `at`, in bytes; if it is none, that of UUID and name."""
    # A size above 254 is written as several bytes, of which all but the last are 255.
    size, before = data[at - 1], at - 2
    while before >= 0 and data[before] == 0xFF and size <= _MOST_BYTES:
        size, before = size + 0xFF, before - 1
    is_message = before >= 0 and data[before] == _UNREGISTERED
    return min(size, _MOST_BYTES) if is_message else len(_UUID + _NAME)


def _blank(data: mmap.mmap, at: int, length: int) -> None:
    """Overwrites `length` bytes from `at` on. In 0, 0, 3 the 3 does not count (H.264 7.4.1): these three bytes stay."""
    while length > 0 and at < len(data):
        if data[at : at + 3] == b"\0\0\3":
            at, length = at + 3, length - 2
        else:
            data[at] = _BLANK
            at, length = at + 1, length - 1
