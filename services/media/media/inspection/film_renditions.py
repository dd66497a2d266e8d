"""Makes the rendition of a video that a platform needs, and its thumbnail, with ffmpeg in the sandbox.

A rendition takes minutes (`film_plan.py` decides how it is made): ffmpeg runs at the lowest priority, with one thread
less than the machine has, and reports its progress.
"""

import os
import re
from collections.abc import Callable

import structlog
from msgspec.structs import replace

from chassis.sandbox.pool import Limits
from contracts.renditions import Need
from media.context import AppContext
from media.decoder.formats import Refused
from media.inspection import ffmpeg, film_plan
from media.inspection.ffmpeg import FilmFiles
from media.inspection.film import Film

log = structlog.get_logger()

#: The niceness of work that nobody waits for.
_LOWEST_PRIORITY = 19
#: 4K HEVC with HDR takes 600 MB. Our choice.
_MEMORY_BYTES = 2048 * 2**20
#: Of CPU, for each second of the video: 4K HEVC with HDR takes 8. And of time, as other work comes first. Our choice.
_CPU_SECONDS, _CPU_SECONDS_FOR_EACH, _TIME_FOR_CPU = 60, 15, 4
#: However long the video is. Our choice.
_MOST_CPU_SECONDS = 2 * 3_600
_UNMADE = (
    "The video cannot be converted to what the platform takes. Export it as MP4 with H.264, and upload that."
)
_OPTIONS = f"-v error -nostats -progress pipe:2 -stats_period 1 -filter_threads {film_plan.THREADS}"
_OPTIONS += f" -threads {film_plan.THREADS}"
_MADE = "-map 0:V:0 -map 0:a:0? {} -abort_on empty_output -movflags +faststart -f {}"
_MADE_UNTIL = re.compile(rb"out_time_us=(\d+)")
#: Many films begin black. The thumbnail is the first frame, within so many seconds, of which a tenth is not black: our
#: choice.
_LIGHT_PERCENT, _SECONDS_SEARCHED = 10, 20
_LIGHT = (
    "blackframe=amount=0:threshold=32",
    f"metadata=select:key=lavfi.blackframe.pblack:value={100 - _LIGHT_PERCENT}:function=less",
)
#: Decoding 20 s of 4K takes as long; the first frame is shown if it takes longer. Both searches fit the loop's 120 s.
_FRAME_LIMITS = replace(ffmpeg.LIMITS, seconds=45, niceness=_LOWEST_PRIORITY)

#: Gets the share that is made, from 0 to 1.
Progress = Callable[[float], None]


def make_film(context: AppContext, mime_type: str, need: Need, files: FilmFiles, progress: Progress) -> Film:
    """Makes the rendition of the video `files.source` that the need describes, in `files.target`. Returns its
    properties.

    `progress` is called with the share that is done. The caller limits how many renditions are made at once. Raises
    Refused if the rendition cannot be made, and SERVICE_UNAVAILABLE when ffmpeg did not run to its end.
    """
    found = ffmpeg.describe(context, mime_type, files.source)
    film = replace(found, size_bytes=os.fstat(files.source).st_size)
    seconds = film.duration_seconds or 0
    cpu_seconds = min(_CPU_SECONDS + int(_CPU_SECONDS_FOR_EACH * seconds), _MOST_CPU_SECONDS)
    limits = Limits(
        memory_bytes=_MEMORY_BYTES,
        seconds=cpu_seconds * _TIME_FOR_CPU,
        cpu_seconds=cpu_seconds,
        file_bytes=need.max_bytes,
        niceness=_LOWEST_PRIORITY,
    )
    hear = _reader(seconds, progress)

    def is_made(arguments: str) -> bool:
        made = _MADE.format(arguments, ffmpeg.MUXERS[need.mime_type])
        status, output = ffmpeg.run(context, mime_type, files, limits, made, options=_OPTIONS, hear=hear)
        if status:
            log.warning("video_not_converted", status=status, mime_type=mime_type, problem=output[-500:])
        return not status

    fits = film_plan.copies(need, film) and is_made(film_plan.copying(film))
    fits = fits or is_made(film_plan.encoding(need, film))
    if fits and os.fstat(files.target).st_size < need.min_bytes:
        fits = is_made(film_plan.encoding(need, film, fills=True))
    if not fits or not need.min_bytes <= os.fstat(files.target).st_size <= need.max_bytes:
        raise Refused(_UNMADE)
    return ffmpeg.describe(context, need.mime_type, files.read_back)


def _reader(seconds: float, progress: Progress) -> Callable[[bytes], None]:
    """Returns a function that reads ffmpeg's reports, and calls `progress` with the share of the video's `seconds` that
    is done, from 0 to 1. The share never falls.
    """
    share = 0.0

    def hear(piece: bytes) -> None:
        nonlocal share
        found = _MADE_UNTIL.findall(piece)
        if found and seconds:
            share = max(share, min(int(found[-1]) / 1e6 / seconds, 1.0))
            progress(share)

    return hear


def make_thumbnail(context: AppContext, mime_type: str, need: Need, files: FilmFiles) -> None:
    """Writes one frame of the video as a JPEG into `files.target`: the first frame within 20 s that is not black or, if
    there is none, the very first frame.

    Raises Refused if no frame can be read, and SERVICE_UNAVAILABLE when ffmpeg did not run to its end.
    """
    film = ffmpeg.describe(context, mime_type, files.source)
    options = f"-v error -threads 1 -t {_SECONDS_SEARCHED}"
    for chosen in (_LIGHT, ()):
        scaled = (f"scale={need.width}:{need.height}:flags=bicubic", "setsar=1", *chosen)
        filters = ",".join((*scaled, *film_plan.to_sdr(film), "scale=out_range=pc", "format=yuvj420p"))
        made = f"-map 0:V:0 -vf {filters} -frames:v 1 -q:v 4 -c:v mjpeg -f mjpeg"
        limits = replace(_FRAME_LIMITS, file_bytes=need.max_bytes)
        with context.sandbox_pool.turn():
            ffmpeg.run(context, mime_type, files, limits, made, options=options)
        if os.fstat(files.target).st_size:
            return
    raise Refused(_UNMADE)
