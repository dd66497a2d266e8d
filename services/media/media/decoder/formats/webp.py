"""Parses WebP files by their RIFF chunks. Keeps frames, transparency, the colour profile, and the orientation."""

import struct

from media.decoder.formats import INCOMPLETE, UNREADABLE, Bytes, ParsedImage, Refused, check_pixels, exif, icc

_KEPT = frozenset((b"VP8 ", b"VP8L", b"VP8X", b"ALPH", b"ANIM", b"ANMF", b"ICCP"))
_EXIF_FLAG, _XMP_FLAG = 0x08, 0x04


def parse(data: memoryview) -> ParsedImage:
    """Parses a WebP file and cuts off the bytes after the image. Raises Refused for a damaged file."""
    picture, at = ParsedImage(), 12
    end = 8 + int.from_bytes(data[4:8], "little")
    if end > len(data):
        raise Refused(INCOMPLETE)
    chunks: list[Bytes] = []
    while at + 8 <= end:
        kind, length = bytes(data[at : at + 4]), int.from_bytes(data[at + 4 : at + 8], "little")
        if at + 8 + length > end:
            raise Refused(INCOMPLETE)
        chunk = data[at : at + 8 + length + (length & 1)]
        at += len(chunk)
        if not chunks:
            check_pixels(*_size(kind, chunk[8:]))  # before Pillow opens the file, and reserves its memory
        if kind in _KEPT:
            chunks.append(chunk)
            picture.frames += kind == b"ANMF"
            if kind == b"ICCP":
                chunks[-1] = bytes(chunk[:8]) + icc.blanked(bytes(chunk[8:]))
                picture.kept_metadata.append(chunks[-1])
        elif kind == b"EXIF":
            picture.exif_orientation = picture.exif_orientation or exif.orientation(bytes(chunk[8:]))
        elif kind == b"XMP ":
            picture.xmp_orientation = exif.xmp_orientation(chunk)
    if not chunks:
        raise Refused(UNREADABLE)
    picture.kept = _assembled(chunks, picture.orientation)
    return picture


def _size(kind: bytes, body: memoryview) -> tuple[int, int]:
    """Returns width and height in pixels from the first chunk: those of the canvas, or of the only frame."""
    if kind == b"VP8X" and len(body) >= 10:
        return int.from_bytes(body[4:7], "little") + 1, int.from_bytes(body[7:10], "little") + 1
    if kind == b"VP8 " and len(body) >= 10 and bytes(body[3:6]) == b"\x9d\x01\x2a":
        width, height = struct.unpack_from("<HH", body, 6)
        return width & 0x3FFF, height & 0x3FFF
    if kind == b"VP8L" and len(body) >= 5 and body[0] == 0x2F:
        bits = int.from_bytes(body[1:5], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    raise Refused(UNREADABLE)


def _assembled(chunks: list[Bytes], orientation: int) -> list[Bytes]:
    """Returns the file to store, with new flags and length. Only the extended format can hold an orientation."""
    first = bytes(chunks[0][:9])
    if first[:4] == b"VP8X":
        flags = first[8] & ~(_EXIF_FLAG | _XMP_FLAG)
        if orientation != 1:
            block = exif.orientation_block(orientation)
            chunks.append(b"EXIF" + struct.pack("<I", len(block)) + block)
            flags |= _EXIF_FLAG
        chunks[0] = first[:8] + bytes([flags]) + bytes(chunks[0][9:])
    return [b"RIFF" + struct.pack("<I", 4 + sum(len(chunk) for chunk in chunks)) + b"WEBP", *chunks]
