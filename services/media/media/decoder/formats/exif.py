"""Reads an image's orientation from EXIF and XMP, and writes an EXIF block that holds nothing else."""

import re
import struct
from contextlib import suppress
from warnings import catch_warnings

from PIL import Image

from media.decoder.formats import Bytes

ORIENTATION = 0x0112
_SHORT = 3
_XMP = re.compile(rb"tiff:Orientation(?:\s*=\s*[\"']|>)([1-8])")


def orientation(tiff: bytes) -> int:
    """Returns the orientation in an EXIF block, which begins with its byte order: 1 to 8, or 0 if it has none."""
    block, found = Image.Exif(), 0
    with suppress(Exception), catch_warnings(action="ignore"):  # Pillow does both at damaged blocks
        block.load(tiff)
        found = int(block.get(ORIENTATION, 0))
    return found if found in range(1, 9) else 0


def xmp_orientation(packet: Bytes) -> int:
    """Returns the orientation in an XMP packet, 1 to 8; 0 if it has none."""
    found = _XMP.search(packet)
    return int(found[1]) if found else 0


def orientation_block(value: int) -> bytes:
    """Returns the smallest EXIF (TIFF) block that holds this orientation."""
    return b"MM\0*" + struct.pack(">IHHHIHHI", 8, 1, ORIENTATION, _SHORT, 1, value, 0, 0)
