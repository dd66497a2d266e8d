"""Searches an image file, as it will be stored, for embedded web pages, programs and archives."""

import os
import re
from collections.abc import Iterable

from media.decoder.formats import Bytes, Refused

#: Not those that are known by a file's first byte alone, because here it is that of an image.
#: Six bytes or more each: 4 KiB of random bytes contain one by chance less than once in a hundred million times.
_ACTIVE = re.compile(
    rb"<script[\s>/]|<\?php\s|<html[\s>]|<!doctype\s+html|<svg\s[^>]{0,500}xmlns|<iframe[\s>]|<body[\s>]|<object[\s>]"
    rb"|<embed[\s>]|javascript:|%PDF-\d\.",
    re.IGNORECASE,
)
#: A ZIP archive is recognized by the record at a file's end, followed by a comment of at most 65,535 bytes.
_ZIP_END, _ZIP_END_BYTES = b"PK\x05\x06", 22
_TAIL_BYTES = _ZIP_END_BYTES + 0xFFFF
#: Browsers guess a type by a file's first 1,445 bytes (WHATWG "MIME Sniffing"), PDF readers by the first 1,024.
_HEAD_BYTES = 4 * 1024
_REFUSED = "The picture contains a web page, a program or an archive. Export it as JPEG, or upload another."


def check(stored: int, metadata: Iterable[Bytes]) -> None:
    """Raises Refused if the file `stored`, an open descriptor, or its metadata contain a page, program or archive."""
    head, end = os.pread(stored, _HEAD_BYTES, 0), os.fstat(stored).st_size
    tail = os.pread(stored, _TAIL_BYTES, max(0, end - _TAIL_BYTES))
    # The record's last two bytes are the length of the comment.
    ends = (found.start() + _ZIP_END_BYTES for found in re.finditer(_ZIP_END, tail))
    is_archive = any(it + int.from_bytes(tail[it - 2 : it], "little") == len(tail) for it in ends)
    if is_archive or any(_ACTIVE.search(part) for part in (head, *metadata)):
        raise Refused(_REFUSED)
