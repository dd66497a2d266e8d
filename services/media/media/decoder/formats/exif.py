"""EXIF: reads an image's orientation, and writes a block with the orientation alone."""

import struct

ORIENTATION = 0x0112
_SHORT = 3


def orientation(tiff: bytes) -> int:
    """Returns 1 to 8; 1 for a malformed block or one without orientation. `tiff` begins with its byte order."""
    order = {b"II*\0": "<", b"MM\0*": ">"}.get(tiff[:4])
    if order is None or len(tiff) < 8:
        return 1
    (at,) = struct.unpack_from(f"{order}I", tiff, 4)
    if at + 2 > len(tiff):
        return 1
    (count,) = struct.unpack_from(f"{order}H", tiff, at)
    for entry in range(at + 2, min(at + 2 + 12 * count, len(tiff) - 11), 12):
        tag, kind, _, value = struct.unpack_from(f"{order}HHIH", tiff, entry)
        if tag == ORIENTATION and kind == _SHORT:
            return value if 1 <= value <= 8 else 1
    return 1


def orientation_block(value: int) -> bytes:
    """Returns the smallest TIFF block with an orientation."""
    return b"MM\0*" + struct.pack(">IHHHIHHI", 8, 1, ORIENTATION, _SHORT, 1, value, 0, 0)
