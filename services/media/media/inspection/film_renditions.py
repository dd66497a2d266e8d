"""Makes the rendition of a video that a platform needs, with ffmpeg in the sandbox. `film_plan.py` decides how.

This takes minutes: ffmpeg runs at the lowest priority, with one thread less than the machine has, and reports its
progress.
"""

import os
import re
from collections.abc import Callable, Sequence

import structlog

from chassis.sandbox.pool import Limits
from contracts.renditions import FileFacts, Need
from media.context import AppContext
from media.decoder.formats import Refused
from media.inspection import ffmpeg, film_plan
from media.inspection.ffmpeg import FilmFiles
from media.inspection.film_plan import Source

log = structlog.get_logger()

#: 4K HEVC with HDR takes 600 MB. Our choice.
_MEMORY_BYTES = 2048 * 2**20
#: Of CPU, for each second of the video: 4K HEVC with HDR takes 8. And of time, as other work comes first. Our choice.
_CPU_SECONDS, _CPU_SECONDS_FOR_EACH, _TIME_FOR_CPU = 60, 15, 4
#: However long the video is. Our choice.
_MOST_CPU_SECONDS = 2 * 3_600
_UNMADE = (
    "The video cannot be converted to what the platform takes. Export it as MP4 with H.264, and upload that."
)
_MADE_UNTIL = re.compile(rb"out_time_us=(\d+)")

#: Gets the share that is made, from 0 to 1.
Progress = Callable[[float], None]


def make(context: AppContext, mime_type: str, need: Need, progress: Progress, files: FilmFiles) -> FileFacts:
    """Makes the rendition that the need describes. Returns its properties.

    The caller limits how many renditions are made at once. Raises Refused, SERVICE_UNAVAILABLE.
    """
    description = ffmpeg.describe(context, mime_type, files.source)
    known, size_bytes = ffmpeg.properties_in(description), os.fstat(files.source).st_size
    given = Source.made_from(known, description=description, size_bytes=size_bytes)
    is_made = film_plan.copies(need, given) and _run(
        context, mime_type, need, given, film_plan.copying(given), progress, files
    )
    if not is_made:
        is_made = _run(context, mime_type, need, given, film_plan.encoding(need, given), progress, files)
    if is_made and os.fstat(files.target).st_size < need.min_bytes:
        filled = film_plan.encoding(need, given, fills=True)
        is_made = _run(context, mime_type, need, given, filled, progress, files)
    if not is_made or not need.min_bytes <= os.fstat(files.target).st_size <= need.max_bytes:
        raise Refused(_UNMADE)
    return ffmpeg.properties_in(ffmpeg.describe(context, need.mime_type, files.read_back))


def _run(
    context: AppContext,
    mime_type: str,
    need: Need,
    given: Source,
    arguments: Sequence[str],
    progress: Progress,
    files: FilmFiles,
) -> bool:
    """Runs ffmpeg once with these arguments to make the rendition. Returns whether ffmpeg succeeded."""
    files.begin()
    seconds = given.duration_seconds or 0
    cpu_seconds = min(_CPU_SECONDS + int(_CPU_SECONDS_FOR_EACH * seconds), _MOST_CPU_SECONDS)
    status, output = ffmpeg.run(
        context,
        (
            *("-v", "error", "-nostats", "-progress", "pipe:2", "-stats_period", "1"),
            *("-filter_threads", str(film_plan.threads()), "-threads", str(film_plan.threads())),
            *("-protocol_whitelist", "fd", "-f", ffmpeg.FORMATS[mime_type][0], "-fd", "3", "-i", "fd:"),
            *("-map", "0:V:0", "-map", "0:a:0?", "-map_metadata", "-1", "-map_chapters", "-1"),
            *(*arguments, "-fflags", "+bitexact", "-abort_on", "empty_output"),
            *("-movflags", "+faststart", "-f", ffmpeg.FORMATS[need.mime_type][1], "-y", "fd:"),
        ),
        (files.read_back, files.target),
        files.source,
        Limits(
            memory_bytes=_MEMORY_BYTES,
            seconds=cpu_seconds * _TIME_FOR_CPU,
            cpu_seconds=cpu_seconds,
            file_bytes=need.max_bytes,
            niceness=film_plan.LOWEST_PRIORITY,
        ),
        _reader(seconds, progress),
    )
    if status:
        log.warning("video_not_converted", status=status, mime_type=mime_type, problem=output[-500:])
    return status == 0


def _reader(seconds: float, progress: Progress) -> Callable[[bytes], None]:
    """Returns a function that reads ffmpeg's reports and passes on the share that is done, without ever going back."""
    share = 0.0

    def hear(piece: bytes) -> None:
        nonlocal share
        found = _MADE_UNTIL.findall(piece)
        if found and seconds:
            share = max(share, min(int(found[-1]) / 1e6 / seconds, 1.0))
            progress(share)

    return hear
