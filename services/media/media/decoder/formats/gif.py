"""Parses GIF files block by block. Keeps frames, timing, repetitions and the colour profile."""

import re
import struct

from media.decoder.formats import INCOMPLETE, UNREADABLE, Bytes, ParsedImage, Refused, check_pixels

#: The first byte of an extension, of a frame, and of the file's end. Decoders skip all others between blocks.
_BLOCK = re.compile(rb"[\x21\x2c\x3b]")
_EXTENSION, _TRAILER, _BLOCKS_END = 0x21, b"\x3b", b"\0"
_CONTROL, _APPLICATION = 0xF9, 0xFF
_KEPT_APPLICATIONS = (b"NETSCAPE2.0", b"ANIMEXTS1.0", b"ICCRGBG1012")


def parse(data: memoryview) -> ParsedImage:
    """Parses a GIF file. Accepts a missing end mark, as decoders do, and adds it. Raises Refused for a damaged file."""
    if len(data) < 13:
        raise Refused(INCOMPLETE)
    check_pixels(*struct.unpack_from("<HH", data, 6))
    picture, end = ParsedImage(), 13 + _table_bytes(data[10])
    picture.kept.append(data[:end])
    while (found := _BLOCK.search(data, end)) is not None and found[0] != _TRAILER:
        at = found.start()
        if data[at] == _EXTENSION:
            try:
                label, end = data[at + 1], _sub_blocks_end(data, at + 2)
            except IndexError:
                if picture.frames:
                    break  # a damaged end; decoders show the frames before it
                raise Refused(INCOMPLETE) from None
            name = bytes(data[at + 3 : at + 14])
            if label == _CONTROL or (label == _APPLICATION and name in _KEPT_APPLICATIONS):
                picture.kept.append(data[at:end])
                picture.kept_metadata.append(data[at:end])
        else:
            picture.frames += 1
            _check_frame(data[at : at + 10])
            blocks = at + 10 + _table_bytes(data[at + 9]) + 1
            try:
                end = _sub_blocks_end(data, blocks)
            except IndexError:
                if picture.frames > 1:
                    raise Refused(INCOMPLETE) from None
                picture.kept += [data[at:blocks], *_cut_sub_blocks(data, blocks)]
                break
            picture.kept.append(data[at:end])
    if not picture.frames:
        raise Refused(UNREADABLE)
    picture.kept.append(_TRAILER)
    return picture


def _check_frame(head: memoryview) -> None:
    """Raises Refused for a frame that needs too much memory, counted from the canvas's corner, as decoders do."""
    if len(head) < 10:
        raise Refused(INCOMPLETE)
    left, top, width, height = struct.unpack_from("<4H", head, 1)
    check_pixels(width, height)
    check_pixels(left + width, top + height)


def _table_bytes(flags: int) -> int:
    return 3 << ((flags & 7) + 1) if flags & 0x80 else 0


def _sub_blocks_end(data: memoryview, at: int) -> int:
    while size := data[at]:  # IndexError: the file ends before the blocks do
        at += 1 + size
    return at + 1


def _cut_sub_blocks(data: memoryview, at: int) -> list[Bytes]:
    """Returns the blocks of a frame inside which the file ends; the last block is shortened to the bytes there are."""
    start = at
    while at < len(data) and at + 1 + data[at] < len(data):
        at += 1 + data[at]
    rest = data[at + 1 :]
    return [data[start:at], bytes([len(rest)]), rest, *([_BLOCKS_END] if len(rest) else [])]
