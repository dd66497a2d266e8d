"""Parses PNG and APNG files chunk by chunk. Keeps image data, the meaning of colours, and the orientation."""

import struct
import zlib
from contextlib import suppress

from media.decoder.formats import INCOMPLETE, UNREADABLE, Bytes, ParsedImage, Refused, exif, icc

SIGNATURE = b"\x89PNG\r\n\x1a\n"
_KEPT = frozenset(
    b"IHDR PLTE IDAT tRNS cHRM gAMA iCCP sBIT sRGB cICP mDCV cLLI bKGD hIST pHYs acTL fcTL fdAT".split()
)
#: The chunks with pixels. Decoders do not look at their checksums.
_PIXELS = frozenset((b"IDAT", b"fdAT"))
_XMP = b"XML:com.adobe.xmp\0"
#: The texts in which ImageMagick writes EXIF, as hexadecimal digits. Other programs read it there, browsers do not.
_TEXTS, _EXIF_TEXT = frozenset((b"tEXt", b"zTXt")), b"Raw profile type exif\0"
#: Two digits for each byte, and line ends: EXIF in a JPEG has at most 64 KiB.
_MAX_TEXT_BYTES = 3 * 2**16
#: As much as a JPEG may hold.
MAX_PROFILE_BYTES = 255 * 65_519
#: The head of a chunk; the length of head and checksum.
_HEAD, _AROUND = struct.Struct(">I4s"), 12


def parse(data: memoryview) -> ParsedImage:
    """Parses a PNG file, cuts off what follows its end, and adds a missing end. Raises Refused for a damaged file."""
    picture, at, kind, seen = ParsedImage(), len(SIGNATURE), b"", False
    picture.kept.append(data[:at])
    while kind != b"IEND" and at + _HEAD.size <= len(data):
        length, kind = _HEAD.unpack_from(data, at)
        if (kind == b"IHDR") != (at == len(SIGNATURE)):
            raise Refused(UNREADABLE)
        chunk = data[at : at + _AROUND + length]
        at += _AROUND + length
        if kind in _PIXELS:
            seen = True
            picture.kept.append(chunk if _is_intact(chunk, length) else _chunk(kind, chunk[8 : 8 + length]))
        elif _is_intact(chunk, length):
            _other(kind, chunk, picture)
        elif not seen and (kind[:1].isupper() or kind in (b"acTL", b"fcTL")):  # browsers do without others
            raise Refused(UNREADABLE if at <= len(data) else INCOMPLETE)
    if not seen:
        raise Refused(INCOMPLETE)
    if picture.orientation != 1:
        picture.kept.insert(2, _chunk(b"eXIf", exif.orientation_block(picture.orientation)))
    picture.kept.append(_chunk(b"IEND", b""))
    return picture


def _is_intact(chunk: memoryview, length: int) -> bool:
    return len(chunk) == _AROUND + length and zlib.crc32(chunk[4:-4]) == int.from_bytes(chunk[-4:], "big")


def _chunk(kind: bytes, body: Bytes) -> bytes:
    named = kind + body
    return struct.pack(">I", len(body)) + named + struct.pack(">I", zlib.crc32(named))


def _other(kind: bytes, chunk: memoryview, picture: ParsedImage) -> None:
    body = chunk[8:-4]
    if kind == b"IHDR" and len(body) != 13:
        raise Refused(UNREADABLE)
    if kind == b"fcTL":
        picture.frames += 1
    elif kind == b"eXIf":
        picture.exif_orientation = exif.orientation(bytes(body))
    elif kind in _TEXTS and bytes(body[: len(_EXIF_TEXT)]) == _EXIF_TEXT:
        tiff = _exif_in_text(kind, bytes(body[len(_EXIF_TEXT) :]))
        picture.exif_orientation = picture.exif_orientation or exif.orientation(tiff)
    elif kind == b"iTXt" and bytes(body[: len(_XMP)]) == _XMP:
        picture.xmp_orientation = exif.xmp_orientation(body)
    if kind in _KEPT:
        kept = _blanked(chunk) if kind == b"iCCP" else chunk
        picture.kept.append(kept)
        picture.kept_metadata.append(kept)


def _blanked(chunk: memoryview) -> Bytes:
    name, _, packed = bytes(chunk[8:-4]).partition(b"\0")
    with suppress(zlib.error):
        profile = (unpacking := zlib.decompressobj()).decompress(packed[1:], MAX_PROFILE_BYTES)
        if unpacking.eof and (blanked := icc.blanked(profile)) != profile:
            return _chunk(b"iCCP", name + b"\0\0" + zlib.compress(blanked))
    return chunk


def _exif_in_text(kind: bytes, text: bytes) -> bytes:
    """Returns the EXIF block that ImageMagick wrote in hexadecimal digits from the fourth line on, or no bytes."""
    try:
        if kind == b"zTXt":
            text = zlib.decompressobj().decompress(text[1:], _MAX_TEXT_BYTES)
        digits = b"".join(text[:_MAX_TEXT_BYTES].split(b"\n")[3:])
        return bytes.fromhex(digits[: len(digits) & ~1].decode("ascii"))
    except (zlib.error, ValueError):
        return b""
