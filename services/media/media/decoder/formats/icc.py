"""Blanks what the colour profile of a screen or scanner tells about the device and its owner. Pure."""

import struct

#: When it was calibrated, and what was measured (ICC.1); its maker, model and serial number (colord, macOS).
_PRIVATE = frozenset((b"calt", b"targ", b"devs", b"meta", b"mmod"))
_HEAD_BYTES, _TAG, _CHECKSUM = 132, struct.Struct(">4sII"), slice(84, 100)


def blanked(profile: bytes) -> bytes:
    """Returns the profile without these notes, in its full length. Colours stay; so does any damage."""
    count = int.from_bytes(profile[_HEAD_BYTES - 4 : _HEAD_BYTES], "big")
    made, end = bytearray(profile), _HEAD_BYTES + _TAG.size * count
    for at in range(_HEAD_BYTES, min(end, len(profile) - _TAG.size + 1), _TAG.size):
        name, start, size = _TAG.unpack_from(profile, at)
        if name in _PRIVATE and end <= start <= start + size <= len(profile):
            made[start : start + size] = bytes(size)
            made[_CHECKSUM] = bytes(16)  # zeros: there is none
    return bytes(made)
