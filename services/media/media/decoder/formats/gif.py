"""GIF: blocks. Kept: frames, their timing, repetitions, the colour profile."""

import struct

from media.decoder.formats import ParsedImage, Refused, check_pixels

_EXTENSION, _IMAGE, _TRAILER = 0x21, 0x2C, 0x3B
_CONTROL, _APPLICATION = 0xF9, 0xFF
_KEPT_APPLICATIONS = (b"NETSCAPE2.0", b"ANIMEXTS1.0", b"ICCRGBG1012")


def parse(data: memoryview) -> ParsedImage:
    """Raises Refused."""
    if len(data) < 14:
        raise Refused("The image is incomplete.")
    picture = ParsedImage(frames=0)
    picture.width, picture.height = struct.unpack_from("<HH", data, 6)
    at = 13 + _table_bytes(data[10])
    picture.kept.append(data[:at])
    while (kind := _byte(data, at)) != _TRAILER:
        start = at
        if kind == _IMAGE:
            picture.frames += 1
            _check_frame(data[at : at + 10])
            at = _sub_blocks_end(data, at + 10 + _table_bytes(_byte(data, at + 9)) + 1)
            picture.kept.append(data[start:at])
        elif kind == _EXTENSION:
            label, at = _byte(data, at + 1), _sub_blocks_end(data, at + 2)
            known = label == _CONTROL or (
                label == _APPLICATION and bytes(data[start + 3 : start + 14]) in _KEPT_APPLICATIONS
            )
            (picture.kept if known else picture.dropped).append(data[start:at])
            if known:
                picture.kept_metadata.append(data[start:at])
        else:
            raise Refused("The image is malformed.")
    if not picture.frames:
        raise Refused("The image is empty.")
    picture.kept.append(data[at : at + 1])
    tail = data[at + 1 :]
    if any(tail):
        raise Refused("The file has other data after the image.")
    if tail:
        picture.dropped.append(tail)
    return picture


def _check_frame(head: memoryview) -> None:
    """A frame may be larger than the canvas, but not a decompression bomb."""
    if len(head) < 10:
        raise Refused("The image is incomplete.")
    check_pixels(*struct.unpack_from("<HH", head, 5))


def _byte(data: memoryview, at: int) -> int:
    if at >= len(data):
        raise Refused("The image is incomplete.")
    return data[at]


def _table_bytes(flags: int) -> int:
    """Returns the size of the colour table that the flags announce."""
    return 3 << ((flags & 7) + 1) if flags & 0x80 else 0


def _sub_blocks_end(data: memoryview, at: int) -> int:
    while size := _byte(data, at):
        at += 1 + size
    return at + 1
