"""JPEG: segments and scans. Kept: image data, the colour profile, the orientation. Pixels are not touched."""

import re
import struct

from media.decoder.formats import ParsedImage, Refused, exif

#: In scan data 0xFF is followed by 0 or a restart marker; anything else ends the scan.
_SCAN_END = re.compile(rb"\xff[^\x00\xd0-\xd7\xff]", re.DOTALL)
#: Decoders need a full pass for each scan; real progressive files have about ten. Our choice.
_MAX_SCANS = 100
_FRAMES = frozenset({0xC0, 0xC1, 0xC2, 0xC3, 0xC5, 0xC6, 0xC7, 0xC9, 0xCA, 0xCB, 0xCD, 0xCE, 0xCF})
#: Huffman and arithmetic tables, quantisation, restart interval.
_TABLES = frozenset({0xC4, 0xCC, 0xDB, 0xDD})
_SOI, _EOI, _SOS, _COMMENT = 0xD8, 0xD9, 0xDA, 0xFE
_APPLICATION = range(0xE0, 0xF0)
_EXIF = b"Exif\0\0"
#: How phones announce further images and short videos in the same file.
_MPF, _MOTION = b"MPF\0", re.compile(rb"MotionPhoto|MicroVideo")


def parse(data: memoryview) -> ParsedImage:
    """Raises Refused."""
    picture, at, scans = ParsedImage(), 2, 0
    picture.kept.append(data[:2])
    while True:
        marker, at = _marker(data, at, picture)
        if marker == _EOI:
            break
        end = at + 2 + _u16(data, at + 2)
        if end < at + 4 or end > len(data):
            raise Refused("The image is incomplete.")
        segment = data[at:end]
        if marker == _SOS:
            scans += 1
            end = _scan_end(data, end)
            picture.kept.append(data[at:end])
        elif marker in _FRAMES:
            _frame(segment, picture)
        elif marker in _TABLES:
            picture.kept.append(segment)
        elif marker in _APPLICATION or marker == _COMMENT:
            _application(marker, segment, picture)
        else:
            raise Refused("The image is malformed.")
        at = end
        if scans > _MAX_SCANS:
            raise Refused("The image has too many scans.")
    if not scans or not picture.width:
        raise Refused("The image is incomplete.")
    picture.kept.append(data[at : at + 2])
    _trailer(data[at + 2 :], picture)
    return picture


def _marker(data: memoryview, at: int, picture: ParsedImage) -> tuple[int, int]:
    """Returns the next marker and its offset, skipping fill bytes."""
    start = at
    while at + 1 < len(data) and data[at] == 0xFF and data[at + 1] == 0xFF:
        at += 1
    if at + 1 >= len(data):
        raise Refused("The image is incomplete.")
    if data[at] != 0xFF:
        raise Refused("The image is malformed.")
    if at > start:
        picture.dropped.append(data[start:at])
    return data[at + 1], at


def _u16(data: memoryview, at: int) -> int:
    return int.from_bytes(data[at : at + 2], "big") if at + 2 <= len(data) else 0


def _scan_end(data: memoryview, at: int) -> int:
    found = _SCAN_END.search(data, at)
    if found is None:
        raise Refused("The image is incomplete.")
    return found.start()


def _frame(segment: memoryview, picture: ParsedImage) -> None:
    if picture.width or len(segment) < 10:
        raise Refused("The image is malformed.")
    picture.height, picture.width = struct.unpack_from(">HH", segment, 5)
    if not picture.width or not picture.height:
        raise Refused("The image has no width or height.")
    picture.kept.append(segment)


def _application(marker: int, segment: memoryview, picture: ParsedImage) -> None:
    """Keeps JFIF without its thumbnail, the colour profile and Adobe's transform; of EXIF the orientation."""
    body = bytes(segment[4:18])
    if marker == 0xE0 and body.startswith(b"JFIF\0") and len(segment) >= 18:
        _keep(b"\xff\xe0\x00\x10" + body[:12] + b"\0\0", segment, picture)
    elif (marker == 0xE2 and body.startswith(b"ICC_PROFILE\0")) or (
        marker == 0xEE and body.startswith(b"Adobe") and len(segment) == 16
    ):
        picture.kept.append(segment)
        picture.kept_metadata.append(segment)
    elif marker == 0xE1 and body.startswith(_EXIF) and picture.orientation == 1:
        picture.orientation = exif.orientation(bytes(segment[10:]))
        if picture.orientation == 1:
            picture.dropped.append(segment)
        else:
            block = _EXIF + exif.orientation_block(picture.orientation)
            _keep(b"\xff\xe1" + struct.pack(">H", len(block) + 2) + block, segment, picture)
    else:
        picture.dropped.append(segment)


def _keep(wanted: bytes, segment: memoryview, picture: ParsedImage) -> None:
    picture.kept.append(wanted)
    if wanted != segment:
        picture.dropped.append(segment)


def _trailer(tail: memoryview, picture: ParsedImage) -> None:
    """Drops what phones append to an image. Anything else after its end is refused."""
    if not tail:
        return
    said = b"".join(bytes(it) for it in picture.dropped)
    phone = (
        not any(tail)
        or (_MPF in said and bytes(tail[:3]) == b"\xff\xd8\xff")  # further images: depth, gain map, preview
        or (bytes(tail[4:8]) == b"ftyp" and _MOTION.search(said) is not None)  # a video of the moment
        or bytes(tail[-4:]) == b"SEFT"  # Samsung's own list of extras
    )
    if not phone:
        raise Refused("The file has other data after the image.")
    picture.dropped.append(tail)
