"""Detects a file's type by its first bytes, and pages, programs and archives that are embedded in it. Pure."""

import re
from collections.abc import Iterable

from media.decoder.formats import Bytes, Refused

_SIGNATURES: tuple[tuple[str, re.Pattern[bytes]], ...] = (
    ("image/jpeg", re.compile(rb"\xff\xd8\xff")),
    ("image/png", re.compile(rb"\x89PNG\r\n\x1a\n")),
    ("image/gif", re.compile(rb"GIF8[79]a")),
    ("image/webp", re.compile(rb"RIFF....WEBP", re.DOTALL)),
    ("video/mp4", re.compile(rb"....ftyp", re.DOTALL)),
    ("video/webm", re.compile(rb"\x1a\x45\xdf\xa3")),
)
#: Older QuickTime files begin without `ftyp`.
_QUICKTIME = re.compile(rb"....(moov|mdat|wide|free|skip|pnot)", re.DOTALL)
#: Six bytes or more each: a megabyte of thumbnails contains one by chance less than once in a million times.
_ACTIVE = re.compile(
    rb"<script[\s>/]|<\?php\s|<html[\s>]|<!doctype\s+html|<svg[\s>]|<iframe[\s>]|<body[\s>]|<object[\s>]|<embed[\s>]"
    rb"|javascript:|%PDF-\d\.|%!PS-Adobe|PK\x03\x04[\x0a\x14\x2d]\x00|MZ.{10,200}This program|\x7fELF[\x01\x02]\x01\x01"
    rb"|Rar!\x1a\x07|7z\xbc\xaf\x27\x1c|[CFZ]WS[\x06-\x20].{4}\x78",
    re.IGNORECASE | re.DOTALL,
)
_ZIP_END, _ZIP_END_BYTES = b"PK\x05\x06", 22
#: A ZIP archive is recognized by the record at a file's end, followed by a comment of at most 65,535 bytes.
ZIP_TAIL_BYTES = _ZIP_END_BYTES + 0xFFFF
#: Programs that guess a type read a file's beginning; some read its end. Our choice.
EDGE_BYTES = 64 * 1024


def check_type(head: bytes, mime_type: str) -> None:
    """Compares the first 16 bytes with the declared type. Raises Refused."""
    found = next((it for it, signature in _SIGNATURES if signature.match(head)), None)
    if found == mime_type or (
        mime_type == "video/quicktime" and (found == "video/mp4" or _QUICKTIME.match(head) is not None)
    ):
        return
    raise Refused(f"The file is not {mime_type}" + (f" but {found}." if found else "."))


def check_metadata(parts: Iterable[Bytes]) -> None:
    """Searches everything but pixels for pages, programs and archives. Raises Refused."""
    for part in parts:
        if _ACTIVE.search(part) is not None:
            raise Refused("The file contains a hidden page, program or archive.")


def check_tail(tail: bytes) -> None:
    """Searches the last ZIP_TAIL_BYTES of a file for a ZIP archive. Raises Refused."""
    at = tail.rfind(_ZIP_END)
    while at >= 0:
        comment = tail[at + 20 : at + _ZIP_END_BYTES]
        if len(comment) == 2 and at + _ZIP_END_BYTES + int.from_bytes(comment, "little") == len(tail):
            raise Refused("The file is also a ZIP archive.")
        at = tail.rfind(_ZIP_END, 0, at)
