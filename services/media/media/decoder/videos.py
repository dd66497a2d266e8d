"""Inspects one video by its headers, in a sandboxed process.

The video stays in the storage: the service sends the ranges that this process asks for over `range_channel.py`.
"""

import socket
from collections.abc import Sequence
from typing import Any

import msgspec

from media.decoder import embedded_content
from media.decoder.formats import Patch, Refused, mp4, webm
from media.decoder.formats.ranges import RangeReader
from media.decoder.range_channel import request_range


def inspect_video(argument: dict[str, Any], files: Sequence[int]) -> dict[str, Any]:
    """Returns the video's properties and the patches that remove its metadata; or `refused`."""
    with socket.socket(fileno=files[0]) as channel:
        channel.setblocking(True)
        file = RangeReader(
            lambda offset, length: request_range(channel, offset, length), argument["size_bytes"]
        )
        try:
            tail = file.tail(embedded_content.ZIP_TAIL_BYTES)
            embedded_content.check_type(file.read(0, min(16, file.size)), argument["mime_type"])
            embedded_content.check_metadata([file.read(0, min(embedded_content.EDGE_BYTES, file.size)), tail])
            embedded_content.check_tail(tail)
            is_webm = argument["mime_type"] == "video/webm"
            video = webm.parse(file) if is_webm else mp4.parse(file, argument["mime_type"])
        except Refused as refusal:
            return {"refused": str(refusal)}
    return {
        "width": video.width,
        "height": video.height,
        "duration_seconds": video.duration_seconds,
        "patches": [(patch.offset, patch.length, patch.head) for patch in video.patches],
    }


def patches(found: dict[str, Any]) -> list[Patch]:
    """Reads the patches out of the result of `inspect_video`."""
    return [
        Patch(*it) for it in msgspec.convert(found["patches"], list[tuple[int, int, bytes]], strict=False)
    ]
