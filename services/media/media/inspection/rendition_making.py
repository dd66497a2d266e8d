"""Makes one rendition or thumbnail: fetches the file, runs sandboxed processes, stores the result. A video's rendition
takes minutes, so its ffmpeg has the lowest priority, and leaves one core to others.
"""

import os
import re
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import structlog
from msgspec.structs import replace

from chassis.sandbox.pool import Limits, WorkFailed
from contracts.platforms import JPEG
from contracts.renditions import Need
from media.context import AppContext
from media.decoder.formats import Refused
from media.inspection import ffmpeg, film_plan
from media.inspection.ffmpeg import FilmFiles
from media.inspection.film import Film
from media.inspection.uploaded_files import fetched
from media.models import MediaRow

log = structlog.get_logger()

#: Our choice: several times what 4K HEVC with HDR takes, which is 454 MB.
_MEMORY_BYTES = 2048 * 2**20
#: Of CPU, for each second of the video: 4K HEVC with HDR takes 8. And of time, as other work comes first. Our choice.
_CPU_SECONDS, _CPU_SECONDS_FOR_EACH, _TIME_FOR_CPU = 60, 15, 4
#: However long the video is. Our choice.
_MOST_CPU_SECONDS = 2 * 3_600
#: Of any file, and of a video.
UNMADE = "The file cannot be made to fit the platform. Export it as JPEG or MP4, and upload that."
_UNMADE_FILM = "The video cannot be made to fit the platform. Export it as MP4 with H.264, and upload that."
_OPTIONS = f"-v error -nostats -progress pipe:2 -stats_period 1 -filter_threads {film_plan.THREADS}"
_OPTIONS += f" -threads {film_plan.THREADS}"
_MADE_UNTIL = re.compile(rb"out_time_us=(\d+)")
_MADE = "-map 0:V:0 -map 0:a:0? {} -abort_on empty_output -movflags +faststart -f {}"
#: Many films begin black: the first frame is shown, within so many seconds, of which a tenth is not black. Our choice.
_LIGHT_PERCENT, _SECONDS_SEARCHED = 10, 20
_LIGHT = (
    "blackframe=amount=0:threshold=32",
    f"metadata=select:key=lavfi.blackframe.pblack:value={100 - _LIGHT_PERCENT}:function=less",
)
#: Decoding 20 s of 4K takes as long; the first frame is shown if it takes longer. Both searches fit the loop's 120 s.
_FRAME_LIMITS = replace(ffmpeg.LIMITS, seconds=45)

#: A function that gets the share of a video that is made, from 0 to 1.
Progress = Callable[[float], None]


def make(
    context: AppContext, row: MediaRow, need: Need, object_name: str, progress: Progress = lambda _: None
) -> dict[str, Any]:
    """Makes the rendition `need` of a file, or a video's thumbnail if the need is a JPEG, and stores it as
    `object_name`. Returns its size in bytes, width, height and, of a video, duration. Raises Refused if it cannot be
    made, and SERVICE_UNAVAILABLE if another try may succeed: as FfmpegEnded if the file may be the reason.
    """
    is_photo = row.kind == "photo"
    turn = context.sandbox_pool.turn() if is_photo else nullcontext()  # videos hold no turn for minutes
    with turn, fetched(context, row.object_name) as (_, made, files):
        facts: dict[str, Any] = {"width": need.width, "height": need.height}
        if is_photo:
            argument = {"mime_type": row.mime_type, "max_bytes": need.max_bytes, **facts}
            try:
                found = context.sandbox_pool.run("make_picture", argument, files[:2], has_turn=True)
            except WorkFailed as error:
                log.warning("rendition_failed", media_id=row.id, problem=str(error))
                raise Refused(UNMADE) from error
            facts = {name: found[name] for name in facts}
        elif need.mime_type == JPEG:
            make_thumbnail(context, row.mime_type, need, files)
        else:
            film = make_film(context, row.mime_type, need, files, progress)
            facts = {name: getattr(film, name) for name in ("width", "height", "duration_seconds")}
        return {**facts, "size_bytes": context.bucket.put(object_name, made, need.mime_type)}


def make_film(context: AppContext, mime_type: str, need: Need, files: FilmFiles, progress: Progress) -> Film:
    """Writes the rendition `need` of the video `files.source` into `files.target`. Returns the rendition's properties.
    Raises Refused if it cannot be made, and SERVICE_UNAVAILABLE if ffmpeg did not run to its end.
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
        in_background=True,
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
        raise Refused(_UNMADE_FILM)
    return ffmpeg.describe(context, need.mime_type, files.read_back)


def _reader(seconds: float, progress: Progress) -> Callable[[bytes], None]:
    """Returns a function that gets ffmpeg's reports and tells `progress` the share of the video that is made."""
    share = 0.0

    def hear(piece: bytes) -> None:
        nonlocal share
        found = _MADE_UNTIL.findall(piece)
        if found and seconds:
            share = max(share, min(int(found[-1]) / 1e6 / seconds, 1.0))
            progress(share)

    return hear


def make_thumbnail(context: AppContext, mime_type: str, need: Need, files: FilmFiles) -> None:
    """Writes the first frame that is not black, or else the very first, as a JPEG into `files.target`. Raises Refused
    if no frame can be read, and SERVICE_UNAVAILABLE if ffmpeg did not run to its end.
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
    raise Refused(_UNMADE_FILM)
