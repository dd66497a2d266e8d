"""The boxes that MP4 and QuickTime files are made of: where each lies. Nothing about what they mean."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from media.decoder.formats import Refused
from media.decoder.formats.ranges import Ranges

#: Fragmented films have a pair of boxes every few seconds. Our choice.
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
        """Of its contents."""
        return self.end - self.body


class Boxes:
    """A file of boxes."""

    def __init__(self, file: Ranges) -> None:
        self.file = file
        self._left = _MAX_BOXES

    def between(self, start: int, end: int) -> Iterator[Box]:
        """The boxes between two places, which they have to fill. Raises Refused."""
        while start < end:
            self._left -= 1
            if self._left < 0 or start + 8 > end:
                raise Refused("The film is malformed.")
            size, kind = struct.unpack(">I4s", self.file.read(start, 8))
            body = start + 8
            if size == 1:
                (size,) = struct.unpack(">Q", self.file.read(body, 8))
                body += 8
            elif size == 0 and end == self.file.size:
                size = end - start  # to the end of the file
            if start + size < body:
                raise Refused("The film is malformed.")
            if start + size > end:
                raise Refused("The film is cut off.")
            yield Box(kind, start, body, start + size)
            start += size

    def inside(self, box: Box, skip: int = 0) -> Iterator[Box]:
        """The boxes in a box, behind `skip` bytes of its own."""
        return self.between(box.body + skip, box.end)

    def find(self, box: Box | None, *path: bytes, skip: int = 0) -> Box | None:
        """The first box of that path below it; `skip` bytes of the first level are not boxes."""
        for kind in path:
            if box is None:
                return None
            box = next((child for child in self.inside(box, skip) if child.kind == kind), None)
            skip = 0
        return box

    def read(self, box: Box, offset: int, layout: str) -> tuple[int, ...]:
        """Numbers out of its contents. Raises Refused when they are too short."""
        length = struct.calcsize(layout)
        if offset + length > box.length:
            raise Refused("The film is malformed.")
        return struct.unpack(layout, self.file.read(box.body + offset, length))
