"""The boxes (atoms) of MP4 and QuickTime files, and where each is."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from media.decoder.formats import Refused
from media.decoder.formats.ranges import RangeReader

#: Fragmented videos have a pair of boxes every few seconds. Our choice.
_MAX_BOXES = 20_000


@dataclass(frozen=True)
class Box:
    kind: bytes
    start: int
    #: Where its contents begin and end.
    body: int
    end: int

    @property
    def length(self) -> int:
        """The length of its contents."""
        return self.end - self.body


class Boxes:
    """A file of boxes."""

    def __init__(self, file: RangeReader) -> None:
        self.file = file
        self._left = _MAX_BOXES

    def between(self, start: int, end: int) -> Iterator[Box]:
        """Yields the boxes between two offsets, which they must fill. Raises Refused."""
        while start < end:
            self._left -= 1
            if self._left < 0 or start + 8 > end:
                raise Refused("The video is malformed.")
            size, kind = struct.unpack(">I4s", self.file.read(start, 8))
            body = start + 8
            if size == 1:
                (size,) = struct.unpack(">Q", self.file.read(body, 8))
                body += 8
            elif size == 0 and end == self.file.size:
                size = end - start  # up to the end of the file
            if start + size < body:
                raise Refused("The video is malformed.")
            if start + size > end:
                raise Refused("The video is incomplete.")
            yield Box(kind, start, body, start + size)
            start += size

    def inside(self, box: Box, skip: int = 0) -> Iterator[Box]:
        """Yields the boxes in a box, after `skip` bytes of its own."""
        return self.between(box.body + skip, box.end)

    def find(self, box: Box | None, *path: bytes, skip: int = 0) -> Box | None:
        """Returns the first box at that path; `skip` bytes of the first level are not boxes."""
        for kind in path:
            if box is None:
                return None
            box = next((child for child in self.inside(box, skip) if child.kind == kind), None)
            skip = 0
        return box

    def read(self, box: Box, offset: int, layout: str) -> tuple[int, ...]:
        """Unpacks numbers from its contents. Raises Refused when they are too short."""
        length = struct.calcsize(layout)
        if offset + length > box.length:
            raise Refused("The video is malformed.")
        return struct.unpack(layout, self.file.read(box.body + offset, length))
