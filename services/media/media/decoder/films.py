"""Strangers' films, their headers read: runs in a confined process alone (`chassis.sandbox.pool`), one film each.

The film stays in the storage. The process outside brings ranges of it, asked for over a socket (`answer`).
"""

import socket
import struct
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from media.decoder import embedded_content
from media.decoder.formats import Patch, Refused, mp4, webm
from media.decoder.formats.ranges import Ranges

_RANGE = struct.Struct("!QI")


def inspect(argument: dict[str, Any], files: Sequence[int]) -> dict[str, Any]:
    """Is it the film it is said to be? What it tells, and what is to be written over; or `refused`."""
    with socket.socket(fileno=files[0]) as line:
        line.setblocking(True)
        file = Ranges(lambda offset, length: _ask(line, offset, length), argument["size_bytes"])
        try:
            tail = file.tail(embedded_content.ZIP_TAIL_BYTES)
            embedded_content.check_type(file.read(0, min(16, file.size)), argument["mime_type"])
            embedded_content.check_metadata([file.read(0, min(embedded_content.EDGE_BYTES, file.size)), tail])
            embedded_content.check_tail(tail)
            is_webm = argument["mime_type"] == "video/webm"
            video = webm.look(file) if is_webm else mp4.look(file, argument["mime_type"])
        except Refused as refusal:
            return {"refused": str(refusal)}
    return {
        "width": video.width,
        "height": video.height,
        "duration_seconds": video.duration_seconds,
        "patches": [(patch.offset, patch.length, patch.head) for patch in video.patches],
    }


def patches(found: dict[str, Any]) -> list[Patch]:
    """Out of what `inspect` answered."""
    return [
        Patch(*it) for it in msgspec.convert(found["patches"], list[tuple[int, int, bytes]], strict=False)
    ]


def answer(line: socket.socket, fetch: Callable[[int, int], bytes]) -> None:
    """Outside: bring ranges until the other end is closed. What `fetch` raises ends it too."""
    while len(asked := _receive(line, _RANGE.size)) == _RANGE.size:
        offset, length = _RANGE.unpack(asked)
        line.sendall(fetch(offset, length))


def _ask(line: socket.socket, offset: int, length: int) -> bytes:
    line.sendall(_RANGE.pack(offset, length))
    found = _receive(line, length)
    if len(found) != length:
        raise EOFError("the range did not come")
    return found


def _receive(line: socket.socket, length: int) -> bytes:
    """As many bytes, or fewer where the other end was closed."""
    received = bytearray()
    while len(received) < length and (piece := line.recv(length - len(received))):
        received += piece
    return bytes(received)
