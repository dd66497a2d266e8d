"""Reads an image's orientation from EXIF and XMP, and writes an EXIF block that holds nothing else."""

import re
import struct
from contextlib import suppress

from media.decoder.formats import Bytes

ORIENTATION = 0x0112
_SHORT = 3
_XMP = re.compile(rb"tiff:Orientation(?:\s*=\s*[\"']|>)([1-8])")


def orientation(tiff: bytes) -> int:
    """Returns the orientation in an EXIF block, with or without "Exif" before it: 1 to 8, or 0 if it has none."""
    tiff = tiff.removeprefix(b"Exif\0\0")
    order = {b"II*\0": "<", b"MM\0*": ">"}.get(tiff[:4])
    with suppress(struct.error):  # the block ends early, or has no byte order
        (at,) = struct.unpack_from(f"{order}I", tiff, 4)
        (count,) = struct.unpack_from(f"{order}H", tiff, at)
        for entry in range(at + 2, at + 2 + 12 * count, 12):
            tag, kind, _, value = struct.unpack_from(f"{order}HHIH", tiff, entry)
            if tag == ORIENTATION and kind == _SHORT:
                return value if 1 <= value <= 8 else 0
    return 0


def xmp_orientation(packet: Bytes) -> int:
    """Returns the orientation in an XMP packet, 1 to 8; 0 if it has none."""
    found = _XMP.search(packet)
    return int(found[1]) if found else 0


def orientation_block(value: int) -> bytes:
    """Returns the smallest EXIF (TIFF) block that holds this orientation."""
    return b"MM\0*" + struct.pack(">IHHHIHHI", 8, 1, ORIENTATION, _SHORT, 1, value, 0, 0)
