"""WebP: RIFF chunks. Kept: frames, transparency, the colour profile; of EXIF the orientation."""

import struct

from media.decoder.formats import Bytes, ParsedImage, Refused, exif

_KEPT = frozenset((b"VP8 ", b"VP8L", b"VP8X", b"ALPH", b"ANIM", b"ANMF", b"ICCP"))
_EXIF_FLAG, _XMP_FLAG = 0x08, 0x04


def parse(data: memoryview) -> ParsedImage:
    """Raises Refused."""
    picture, at = ParsedImage(frames=0), 12
    end = 8 + int.from_bytes(data[4:8], "little")
    if end > len(data):
        raise Refused("The image is incomplete.")
    if any(data[end:]):
        raise Refused("The file has other data after the image.")
    chunks: list[Bytes] = []
    while at < end:
        kind, length = bytes(data[at : at + 4]), int.from_bytes(data[at + 4 : at + 8], "little")
        if at + 8 + length > end:
            raise Refused("The image is incomplete.")
        chunk = data[at : at + 8 + length + (length & 1)]
        at += len(chunk)
        if not chunks:
            picture.width, picture.height = _size(kind, chunk[8:])
        if kind in _KEPT:
            chunks.append(chunk)
            picture.frames += kind == b"ANMF"
            if kind == b"ICCP":
                picture.kept_metadata.append(chunk)
        elif kind == b"EXIF" and picture.orientation == 1 and bytes(chunks[0][:4]) == b"VP8X":
            picture.orientation = exif.orientation(bytes(chunk[8:]).removeprefix(b"Exif\0\0"))
            _keep_orientation(chunk, chunks, picture)
        else:
            picture.dropped.append(chunk)
    if not chunks:
        raise Refused("The image is empty.")
    picture.frames = max(picture.frames, 1)
    if data[end:]:
        picture.dropped.append(data[end:])
    _assemble(data, chunks, picture)
    return picture


def _keep_orientation(chunk: memoryview, chunks: list[Bytes], picture: ParsedImage) -> None:
    block = exif.orientation_block(picture.orientation)
    wanted = b"EXIF" + struct.pack("<I", len(block)) + block
    if picture.orientation != 1:
        chunks.append(wanted)
    if picture.orientation == 1 or wanted != chunk:
        picture.dropped.append(chunk)


def _size(kind: bytes, body: memoryview) -> tuple[int, int]:
    """Returns the size in the first chunk: of the canvas, or of the only frame."""
    if kind == b"VP8X" and len(body) >= 10:
        return int.from_bytes(body[4:7], "little") + 1, int.from_bytes(body[7:10], "little") + 1
    if kind == b"VP8 " and len(body) >= 10 and bytes(body[3:6]) == b"\x9d\x01\x2a":
        width, height = struct.unpack_from("<HH", body, 6)
        return width & 0x3FFF, height & 0x3FFF
    if kind == b"VP8L" and len(body) >= 5 and body[0] == 0x2F:
        bits = int.from_bytes(body[1:5], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    raise Refused("The image is malformed.")


def _assemble(data: memoryview, chunks: list[Bytes], picture: ParsedImage) -> None:
    """Assembles the file with new flags and length."""
    first = bytes(chunks[0][:9])
    if first[:4] == b"VP8X":
        flags = first[8] & ~(_EXIF_FLAG | _XMP_FLAG) | (_EXIF_FLAG if picture.orientation != 1 else 0)
        chunks[0] = first[:8] + bytes([flags]) + bytes(chunks[0][9:])
        picture.replaced = flags != first[8]
    head = b"RIFF" + struct.pack("<I", 4 + sum(len(chunk) for chunk in chunks)) + b"WEBP"
    picture.replaced = picture.replaced or head != data[:12]
    picture.kept = [head, *chunks]
