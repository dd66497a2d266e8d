"""Makes a file's thumbnail: downloads the file, runs a sandboxed process, stores the result. Temporary files have no
name, so that a killed process leaves none."""

import os
import tempfile
from typing import IO

from chassis.runtime.loops import Waker
from chassis.sandbox.pool import Limits
from contracts.media import thumbnail_of
from contracts.platforms import JPEG
from media.context import AppContext
from media.inspection import ffmpeg, film_plan
from media.inspection.uploaded_files import put_file
from media.records import MediaRow

#: Wakes the loop that makes thumbnails.
THUMBNAILS_DUE = Waker()
#: Of the longer side, in pixels: what a list shows on a fine screen. Our choice.
SIDE = 320
#: A picture of this size has 20 kB. Our choice.
_MAX_BYTES = 64 * 1024
#: Films begin with black; the first frame of which a tenth is not is shown, within this time. Our choice.
_LIGHT_PERCENT, _SECONDS_SEARCHED = 10, 20
#: Decoding 20 s of 4K takes as long; the first frame is shown if it takes longer. Both searches fit the loop's 120 s.
_CPU_SECONDS, _SECONDS = 20, 45


def make(context: AppContext, row: MediaRow) -> int:
    """Makes the thumbnail and stores it beside the file. Returns its size in bytes; 0 if none can be made.

    Raises WorkFailed, NotStarted, OSError, SERVICE_UNAVAILABLE, Refused.
    """
    with tempfile.TemporaryFile() as original, tempfile.TemporaryFile() as made:
        context.bucket.download(row.object_name, original)
        width, height = size(row.width or SIDE, row.height or SIDE)
        if row.kind == "video":
            _first_light_frame(context, row, (width, height), original, made)
        else:
            argument = {"mime_type": row.mime_type, "width": width, "height": height, "max_bytes": _MAX_BYTES}
            context.sandbox_pool.run("make_picture", argument, (original.fileno(), made.fileno()))
        if not made.seek(0, 2):
            return 0
        return put_file(context, row.object_of(thumbnail_of(row.slug)), made, JPEG)


def size(width: int, height: int) -> tuple[int, int]:
    """Returns width and height of the thumbnail, in pixels. No file is enlarged, and no side is 0."""
    scale = min(1.0, SIDE / max(width, height))
    return max(1, round(width * scale)), max(1, round(height * scale))


def _first_light_frame(
    context: AppContext, row: MediaRow, sides: tuple[int, int], original: IO[bytes], made: IO[bytes]
) -> None:
    """Writes the first frame of the video that is not black as a JPEG into `made`; if all are black, the very first."""
    description = ffmpeg.describe(context, row.mime_type, original.fileno())
    dark = f"value={100 - _LIGHT_PERCENT}:function=less"
    light = ("blackframe=amount=0:threshold=32", f"metadata=select:key=lavfi.blackframe.pblack:{dark}")
    for chosen in (light, ()):
        scaled = (f"scale={sides[0]}:{sides[1]}:flags=bicubic", "setsar=1", *chosen)
        filters = ",".join((*scaled, *film_plan.to_sdr(description), "scale=out_range=pc", "format=yuvj420p"))
        arguments = (
            *("-v", "error", "-protocol_whitelist", "fd", "-f", ffmpeg.FORMATS[row.mime_type][0]),
            *("-threads", "1", "-t", str(_SECONDS_SEARCHED), "-fd", "3", "-i", "fd:", "-map", "0:V:0"),
            *("-vf", filters, "-frames:v", "1", "-q:v", "4", "-map_metadata", "-1", "-fflags", "+bitexact"),
            *("-c:v", "mjpeg", "-f", "mjpeg", "-y", "fd:"),
        )
        limits = Limits(
            memory_bytes=ffmpeg.MEMORY_BYTES,
            seconds=_SECONDS,
            cpu_seconds=_CPU_SECONDS,
            file_bytes=_MAX_BYTES,
            niceness=film_plan.LOWEST_PRIORITY,
        )
        original.seek(0)
        with context.sandbox_pool.turn():
            ffmpeg.run(context, arguments, (original.fileno(), made.fileno()), original.fileno(), limits)
        if os.fstat(made.fileno()).st_size:
            return
