"""PNG and APNG: chunks. Kept: image data and the meaning of colours; of EXIF the orientation."""

import struct
import zlib

from media.decoder.formats import ParsedImage, Refused, exif

SIGNATURE = b"\x89PNG\r\n\x1a\n"
_KEPT = frozenset(
    b"IHDR PLTE IDAT IEND tRNS cHRM gAMA iCCP sBIT sRGB cICP mDCV cLLI bKGD hIST pHYs acTL fcTL fdAT".split()
)
#: The chunks with pixels.
_PIXELS = frozenset((b"IHDR", b"IDAT", b"fdAT"))
#: The head of a chunk; the length of head and checksum.
_HEAD, _AROUND = struct.Struct(">I4s"), 12


def parse(data: memoryview) -> ParsedImage:
    """Raises Refused."""
    picture, at, kind = ParsedImage(), len(SIGNATURE), b""
    picture.kept.append(data[:at])
    seen: set[bytes] = set()
    while kind != b"IEND":
        if at + _AROUND > len(data):
            raise Refused("The image is incomplete.")
        length, kind = _HEAD.unpack_from(data, at)
        chunk = data[at : at + _AROUND + length]
        if len(chunk) != _AROUND + length:
            raise Refused("The image is incomplete.")
        if zlib.crc32(chunk[4:-4]) != int.from_bytes(chunk[-4:], "big"):
            raise Refused("The image is damaged.")
        if (kind == b"IHDR") != (not seen) or (kind == b"IEND" and length):
            raise Refused("The image is malformed.")
        _chunk(kind, chunk, picture)
        seen.add(kind)
        at += len(chunk)
    if b"IDAT" not in seen:
        raise Refused("The image is empty.")
    if any(data[at:]):
        raise Refused("The file has other data after the image.")
    if data[at:]:
        picture.dropped.append(data[at:])
    return picture


def _chunk(kind: bytes, chunk: memoryview, picture: ParsedImage) -> None:
    body = chunk[8:-4]
    if kind == b"IHDR":
        if len(body) != 13:
            raise Refused("The image is malformed.")
        picture.width, picture.height = struct.unpack_from(">II", body)
    elif kind == b"acTL" and len(body) == 8:
        picture.frames = max(int.from_bytes(body[:4], "big"), 1)
    elif kind == b"eXIf":
        picture.orientation = exif.orientation(bytes(body))
        if picture.orientation != 1:
            wanted = kind + exif.orientation_block(picture.orientation)
            wanted = struct.pack(">I", len(wanted) - 4) + wanted + struct.pack(">I", zlib.crc32(wanted))
            picture.kept.append(wanted)
            if wanted == chunk:
                return
    if kind in _KEPT:
        picture.kept.append(chunk)
        if kind not in _PIXELS:
            picture.kept_metadata.append(chunk)
    elif chr(kind[0]).isupper():
        raise Refused("The image is malformed.")  # an unknown critical chunk
    else:
        picture.dropped.append(chunk)
