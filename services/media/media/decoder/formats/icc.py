"""Blanks those tags of a colour profile that can name a single screen or scanner. Its names and colours stay. Pure."""

import struct

#: Time of the calibration, measurements and settings (ICC.1); maker, model and serial number (colord, macOS).
_PRIVATE = frozenset((b"calt", b"targ", b"devs", b"meta", b"mmod"))
_HEAD_BYTES, _TAG, _CHECKSUM = 132, struct.Struct(">4sII"), slice(84, 100)


def blanked(profile: bytes) -> bytes:
    """Returns the profile, of the same length, with zeros in these tags. Does not repair a damaged profile."""
    count = min(int.from_bytes(profile[_HEAD_BYTES - 4 : _HEAD_BYTES], "big"), 200)  # they have some twenty
    made, end = bytearray(profile), _HEAD_BYTES + _TAG.size * count
    for at in range(_HEAD_BYTES, min(end, len(profile) - _TAG.size + 1), _TAG.size):
        name, start, size = _TAG.unpack_from(profile, at)
        if name in _PRIVATE and end <= start <= start + size <= len(profile):
            made[start : start + size] = bytes(size)
            made[_CHECKSUM] = bytes(16)  # zeros: there is none
    return bytes(made)
