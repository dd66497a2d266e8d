"""Parses JPEG files by segments. Keeps image data, colour profile and orientation, and nothing after the image."""

import re
import struct

from media.decoder.formats import INCOMPLETE, UNREADABLE, Bytes, ParsedImage, Refused, exif, icc

#: The next marker between segments: like libjpeg, this skips stray bytes, fill bytes and restart markers.
_MARKER = re.compile(rb"\xff[^\x00\x01\xd0-\xd7\xff]", re.DOTALL)
#: The end of scan data: any marker but restarts, and those that decoders skip (without a meaning, number of lines).
_SCAN_END = re.compile(rb"\xff[^\x00-\xbf\xd0-\xd7\xdc\xff]", re.DOTALL)
#: Decoders need a full pass for each scan; real progressive files have about ten. Our choice.
_MAX_SCANS = 100
#: Frame headers, Huffman and arithmetic tables, quantisation, restart interval.
_IMAGE = frozenset({*range(0xC0, 0xC8), *range(0xC9, 0xD0), 0xDB, 0xDD})
_EOI, _SOS, _LINES, _COMMENT = 0xD9, 0xDA, 0xDC, 0xFE
_APPLICATION = range(0xE0, 0xF0)
_EXIF, _XMP = b"Exif\0\0", b"http://ns.adobe.com/xap/1.0/\0"
_JFIF, _ADOBE, _PROFILE = b"JFIF\0", b"Adobe", b"ICC_PROFILE\0"


def parse(data: memoryview) -> ParsedImage:
    """Parses a JPEG file. Raises Refused for a damaged file."""
    picture, at, scans = ParsedImage(), 2, 0
    head: list[Bytes] = [data[:2]]
    while (marker := _MARKER.search(data, at)) and marker[0][1] != _EOI:
        at, kind = marker.start(), marker[0][1]
        end = at + 2 + max(int.from_bytes(data[at + 2 : at + 4], "big"), 2)
        if end > len(data):
            raise Refused(INCOMPLETE)
        segment = data[at:end]
        if kind == _SOS:
            scans += 1
            end = scan_end.start() if (scan_end := _SCAN_END.search(data, end)) else len(data)
            picture.kept.append(data[at:end])
        elif kind in _IMAGE:
            picture.kept.append(segment)
        elif kind in _APPLICATION:
            _application(kind, segment, picture, head)
        elif kind not in (_COMMENT, _LINES):
            raise Refused(UNREADABLE)
        at = end
        if scans > _MAX_SCANS:
            raise Refused("The picture takes too long to open. Save it as a new JPEG, and upload that.")
    if not (marker and scans):
        raise Refused(INCOMPLETE)
    if picture.orientation != 1:
        block = _EXIF + exif.orientation_block(picture.orientation)
        head.append(b"\xff\xe1" + struct.pack(">H", len(block) + 2) + block)
    picture.kept = [*head, *picture.kept, b"\xff\xd9"]
    return picture


def _application(marker: int, segment: memoryview, picture: ParsedImage, head: list[Bytes]) -> None:
    """Handles an application segment: keeps JFIF, colour profile and Adobe's transform, and reads the orientation."""
    body = bytes(segment[4:40])
    if marker == 0xE0 and body.startswith(_JFIF) and len(body) >= 14 and len(head) == 1:
        head.append(b"\xff\xe0\x00\x10" + body[:12] + b"\0\0")
    elif marker == 0xEE and body.startswith(_ADOBE) and len(body) >= 12:
        picture.kept.append(b"\xff\xee\x00\x0e" + body[:12])
    elif marker == 0xE2 and body.startswith(_PROFILE):
        # One in several segments, beyond 64 KB, stays as it is: hardly any screen has such a profile.
        kept = bytes(segment[:18]) + icc.blanked(bytes(segment[18:])) if body[12:14] == b"\1\1" else segment
        picture.kept.append(kept)
        picture.kept_metadata.append(kept)
    elif marker == 0xE1 and body.startswith(_EXIF):
        picture.exif_orientation = picture.exif_orientation or exif.orientation(bytes(segment[10:]))
    elif marker == 0xE1 and body.startswith(_XMP):
        picture.xmp_orientation = picture.xmp_orientation or exif.xmp_orientation(segment)
