"""EXIF: reading which way up a picture is, and writing nothing but that."""

import struct

ORIENTATION = 0x0112
_SHORT = 3


def orientation(tiff: bytes) -> int:
    """1 to 8; 1 for what is malformed or says nothing. `tiff` begins with its byte order."""
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


def only(value: int) -> bytes:
    """The smallest TIFF block that says which way up."""
    return b"MM\0*" + struct.pack(">IHHHIHHI", 8, 1, ORIENTATION, _SHORT, 1, value, 0, 0)
