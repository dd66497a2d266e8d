"""Runs ffmpeg in the sandbox: describes videos, and copies their pictures and sound into new files. It gets the files
as open descriptors. `fd` is its only protocol and the demuxer is fixed, so that it opens nothing that a video names.
"""

import os
import re
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import structlog
from msgspec.structs import replace

from chassis.sandbox.pool import Limits, NotStarted, WorkFailed
from contracts.errors import SERVICE_UNAVAILABLE, ApiError
from media.context import AppContext
from media.decoder.formats import INCOMPLETE, Refused
from media.inspection import film
from media.inspection.film import Film

log = structlog.get_logger()

#: MIME type → demuxer, and muxer. A guessed demuxer might be that of a playlist or of a list of files.
_DEMUXERS = {"video/mp4": "mov", "video/quicktime": "mov", "video/webm": "matroska"}
MUXERS = {"video/mp4": "mp4", "video/quicktime": "mov", "video/webm": "webm"}
#: Copying 250 MB takes a second of CPU.
LIMITS = Limits(memory_bytes=1280 * 2**20, seconds=60, cpu_seconds=20, file_bytes=0)
#: A copy, whose index may be larger, may have 1.25 times the upload and this. It stops a video that repeats its bytes.
_ROOM_BYTES = 2**20
#: ffmpeg was ended by its time limit or by the system, and did not fail at the video.
_ENDED_FROM_OUTSIDE = (-signal.SIGALRM, -signal.SIGKILL)
#: ffmpeg's messages about packets that lie beyond the end of the file. It copies what is there, and does not fail.
_ENDS_EARLY = re.compile(
    r"partial file|corrupt input packet|Error during demuxing|ended prematurely|Truncating packet"
)
_DOES_NOT_FIT = re.compile(r"codec not currently supported in container|supported for WebM")
_OTHER_CODEC = "The video has a format that {} cannot have. Export it as MP4 with H.264, and upload that."
#: `experimental` permits the configuration of Dolby Vision, and codecs that are new in a container.
_COPY = "-map 0:V -map 0:a? -c copy {sound} -strict experimental -abort_on empty_output -movflags +faststart"
#: Old phones recorded speech as AMR: such sound is the only one that is encoded anew.
_SOUND = {"mp4": "-c:a aac", "mov": "-c:a aac", "webm": "-c:a libopus"}
#: For everything that is written: without notes of the source or of ffmpeg.
_WITHOUT_NOTES = "-map_metadata -1 -map_chapters -1 -fflags +bitexact"
_KEPT_OUTPUT_BYTES = 64 * 1024


class FfmpegEnded(ApiError):
    """Raised when ffmpeg was ended by its time limit or by the system: a busy machine, or too demanding a video."""


class FilmFiles(NamedTuple):
    """Descriptors of the files between which ffmpeg copies or encodes a video."""

    source: int
    #: Empty at first.
    target: int
    #: The target opened once more, for reading.
    read_back: int


def copy(context: AppContext, mime_type: str, files: FilmFiles, source_bytes: int) -> Film:
    """Copies all pictures and sound from the source to the target, with the index first. Returns the copy's properties.
    Raises Refused for a video that cannot be read or copied, and SERVICE_UNAVAILABLE if ffmpeg did not run to its end.
    """
    muxer = MUXERS[mime_type]
    limits = replace(LIMITS, file_bytes=source_bytes + source_bytes // 4 + _ROOM_BYTES)
    with context.sandbox_pool.turn():  # describing too, so that a full sandbox cannot fail a finished copy
        for sound in ("", _SOUND[muxer]):
            made = f"{_COPY.format(sound=sound)} -f {muxer}"
            status, output = run(context, mime_type, files, limits, made, options="-v warning")
            if _ENDS_EARLY.search(output):
                raise Refused(INCOMPLETE)
            if not status:
                return describe(context, mime_type, files.read_back)
            log.info("video_not_copied", status=status, mime_type=mime_type, problem=output[-500:])
            if not _DOES_NOT_FIT.search(output):
                raise Refused(film.UNREADABLE)
    raise Refused(_OTHER_CODEC.format(mime_type.partition("/")[2].upper()))


def describe(context: AppContext, mime_type: str, source: int) -> Film:
    """Returns the properties of a video. Raises the errors of `copy`."""
    return film.described(run(context, mime_type, FilmFiles(source, source, source), LIMITS)[1])


def run(
    context: AppContext,
    mime_type: str,
    files: FilmFiles,
    limits: Limits,
    made: str = "",
    *,
    options: str = "",
    hear: Callable[[bytes], None] = lambda _: None,
) -> tuple[int, str]:
    """Runs ffmpeg on the source, with `options` before it. If `made` has arguments for a new file, writes it into the
    target. Returns ffmpeg's exit status and the last part of its messages; `hear` gets them as they come. Raises
    SERVICE_UNAVAILABLE if ffmpeg did not run to its end. The caller limits how many run at once.
    """
    if made:
        os.ftruncate(files.target, 0)
        # To move the index to the front, ffmpeg opens its target for reading: `fd:` is descriptor 0 then.
        made += f" {_WITHOUT_NOTES} -y fd:"
    for descriptor in files:
        os.lseek(descriptor, 0, os.SEEK_SET)
    options += f" -protocol_whitelist fd -f {_DEMUXERS[mime_type]} -fd 3 -i fd: {made}"
    command = (context.settings.ffmpeg, "-hide_banner", "-nostdin", *options.split())
    try:
        with _heard(hear) as (messages, kept):
            ends = (files.read_back, files.target, messages, files.source)
            status = context.sandbox_pool.run_program(command, ends, limits, has_turn=True)
    except (NotStarted, WorkFailed) as error:
        log.warning("ffmpeg_not_run", problem=str(error))
        raise FfmpegEnded(SERVICE_UNAVAILABLE, retry_after_seconds=2) from error
    output = kept.decode(errors="replace")
    if status in _ENDED_FROM_OUTSIDE or "No space left on device" in output:
        log.warning("ffmpeg_ended", status=status, problem=output[-500:])
        kind = FfmpegEnded if status in _ENDED_FROM_OUTSIDE else ApiError
        raise kind(SERVICE_UNAVAILABLE, retry_after_seconds=5)
    return status, output


@contextmanager
def _heard(hear: Callable[[bytes], None]) -> Iterator[tuple[int, bytearray]]:
    """Yields a descriptor for ffmpeg's messages, and a buffer that holds the last part of them after the block."""
    ours, theirs = socket.socketpair()
    kept = bytearray()

    def collect() -> None:
        with ours:
            while piece := ours.recv(_KEPT_OUTPUT_BYTES):
                hear(piece)
                kept.extend(piece)
                del kept[:-_KEPT_OUTPUT_BYTES]

    thread = threading.Thread(target=collect, daemon=True)
    thread.start()
    try:
        with theirs:
            yield theirs.fileno(), kept
    finally:
        thread.join()
