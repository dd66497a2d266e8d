"""Checks the type of one video and its edges, in a sandboxed process. `inspection/ffmpeg.py` has the rest read."""

import os
from collections.abc import Sequence
from typing import Any

from media.decoder import embedded_content
from media.decoder.formats import Refused


def check_video(argument: dict[str, Any], files: Sequence[int]) -> dict[str, Any]:
    """Returns `refused` for a file that is not of the declared type, or that is a page, program or archive too."""
    (video,) = files
    size, edge = os.fstat(video).st_size, embedded_content.ZIP_TAIL_BYTES
    head, tail = os.pread(video, edge, 0), os.pread(video, edge, max(size - edge, 0))
    try:
        embedded_content.check_type(head[:16], argument["mime_type"])
        embedded_content.check_metadata([head, tail])
        embedded_content.check_tail(tail)
    except Refused as refusal:
        return {"refused": str(refusal)}
    return {}
