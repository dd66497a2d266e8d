"""Copies pictures and sound of a video into a new file with ffmpeg, in the sandbox, and reads the copy's properties.

Only the copy is stored, without locations, titles, dates, chapters, covers, subtitles and data tracks. Packets are
copied as they are, not encoded anew: notes inside them stay (README.md, "What stays in a video"). ffmpeg gets the
files as open descriptors. `fd` is its only protocol and the demuxer is fixed, so that it opens no address and no
other file that a video names.
"""

import os
import re
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import structlog

from chassis.sandbox.pool import Limits, NotStarted, WorkFailed
from contracts.errors import SERVICE_UNAVAILABLE, ApiError
from contracts.renditions import FileFacts
from media.context import AppContext
from media.decoder.formats import INCOMPLETE, Refused
from media.inspection import film_plan

log = structlog.get_logger()

#: MIME type → demuxer and muxer. A guessed demuxer might be that of a playlist or of a list of files.
FORMATS = {
    "video/mp4": ("mov", "mp4"),
    "video/quicktime": ("mov", "mov"),
    "video/webm": ("matroska", "webm"),
}
#: Copying 250 MB takes a second of CPU. The index of a copy may be larger than the upload's; 1.25 times the upload and
#: a megabyte are room for that, and stop a video that refers to the same bytes again and again.
MEMORY_BYTES, _SECONDS, _CPU_SECONDS = 1280 * 2**20, 60, 20
_ROOM_BYTES = 2**20
#: ffmpeg was ended by its time limit or by the system, and did not fail at the video.
_ENDED_FROM_OUTSIDE = (-signal.SIGALRM, -signal.SIGKILL)
_NO_SPACE = "No space left on device"
#: ffmpeg's messages about packets that lie beyond the end of the file. It copies what is there, and does not fail.
_ENDS_EARLY = re.compile(
    r"partial file|corrupt input packet|Error during demuxing|ended prematurely|Truncating packet"
)
#: ffmpeg's messages about a codec that the container cannot have.
_DOES_NOT_FIT = re.compile(r"codec not currently supported in container|supported for WebM")
_OTHER_CODEC = (
    "The video's pictures have a format that {} cannot have. Export it as MP4 with H.264, and upload that."
)
#: Old phones recorded speech as AMR: such sound is the only one that is encoded anew.
_SOUND = {"mp4": "aac", "mov": "aac", "webm": "libopus"}
_UNREADABLE = "The video cannot be opened, or has no picture. Export it as MP4 with H.264, and upload that."
_KEPT_OUTPUT_BYTES = 64 * 1024
_DURATION = re.compile(r"^  Duration: (\d+):(\d\d):(\d\d\.\d+),", re.MULTILINE)
#: The description of a stream with pictures: its line, and the further indented lines below it.
_PICTURES = re.compile(
    r"^  Stream #0:\d+.*?: Video: (\w+).*?, (\d+)x(\d+)\b(?:.*?\bSAR (\d+):(\d+))?.*(?:\n {4}.*)*",
    re.MULTILINE,
)
#: The largest side in pixels that MP4 can express; and four months. Larger figures come from broken or forged files.
_MAX_SIDE, _MAX_SECONDS = 65_535, 1e7
#: Frames a second: the average, and the rate that fits all timestamps. If they are equal, the rate is constant. Of WebM
#: ffmpeg guesses both; the index of MP4 and MOV counts all frames.
_COUNTS_FRAMES = "Input #0, mov,"
_CONSTANT_FRAME_RATE = re.compile(r", (\d+(?:\.\d+)?) fps, \1 tbr\b")
#: ffmpeg's names of pixels: 8 bits and 4:2:0 are what platforms take of H.264.
_PIXELS, _USUAL_PIXELS = re.compile(r"\byuvj?4\d\dp\w*"), ("yuv420p", "yuvj420p")
_AUDIO = re.compile(
    r"^  Stream #0:\d+.*?: Audio: (\w+)(.*?)(?: \(\w+ / 0x\w+\))?((?:, \w.*?)?)(?:, fltp.*)?$", re.MULTILINE
)
_ON_ITS_SIDE = re.compile(r"rotation of -?(?:90|270)\.00 degrees")


class FfmpegEnded(ApiError):
    """ffmpeg was ended by its time limit or by the system: either the machine is busy, or the video is too
    demanding."""


class FilmFiles(NamedTuple):
    """Descriptors of the files between which ffmpeg copies or encodes a video."""

    source: int
    #: Empty at first.
    target: int
    #: The target opened once more, for reading.
    read_back: int

    def begin(self) -> None:
        """Empties the target, and goes to the beginning of each file."""
        os.ftruncate(self.target, 0)
        for descriptor in self:
            os.lseek(descriptor, 0, os.SEEK_SET)


def copy(context: AppContext, mime_type: str, files: FilmFiles, source_bytes: int) -> FileFacts:
    """Copies all tracks of pictures and sound from the source to the target, with its index first. Returns the copy's
    properties.

    ffmpeg makes the copy and then reads its properties in one turn of the sandbox: no other call gets the turn in
    between. Otherwise a finished copy could fail because the sandbox is full. Raises Refused, SERVICE_UNAVAILABLE.
    """
    try:
        with context.sandbox_pool.turn():
            _copy(context, mime_type, files, source_bytes)
            return properties_in(describe(context, mime_type, files.read_back))
    except NotStarted as error:
        raise ApiError(SERVICE_UNAVAILABLE, retry_after_seconds=2) from error


def _copy(context: AppContext, mime_type: str, files: FilmFiles, source_bytes: int) -> None:
    demuxer, muxer = FORMATS[mime_type]
    limits = Limits(
        memory_bytes=MEMORY_BYTES,
        seconds=_SECONDS,
        cpu_seconds=_CPU_SECONDS,
        file_bytes=source_bytes + source_bytes // 4 + _ROOM_BYTES,
    )
    for sound in ((), ("-c:a", _SOUND[muxer])):
        arguments = (
            *("-v", "warning", "-protocol_whitelist", "fd", "-f", demuxer, "-fd", "3", "-i", "fd:"),
            *(
                "-map",
                "0:V",
                "-map",
                "0:a?",
                "-c",
                "copy",
                *sound,
                "-map_metadata",
                "-1",
                "-map_chapters",
                "-1",
            ),
            # `experimental` permits the configuration of Dolby Vision, and codecs that are new in a container.
            *("-fflags", "+bitexact", "-strict", "experimental", "-abort_on", "empty_output"),
            # To move the index to the front, ffmpeg opens its target for reading: `fd:` is descriptor 0 then.
            *("-movflags", "+faststart", "-f", muxer, "-y", "fd:"),
        )
        files.begin()
        status, output = run(context, arguments, (files.read_back, files.target), files.source, limits)
        if _ENDS_EARLY.search(output):
            raise Refused(INCOMPLETE)
        if not status:
            return
        log.info("video_not_copied", status=status, mime_type=mime_type, problem=output[-500:])
        if not _DOES_NOT_FIT.search(output):
            raise Refused(_UNREADABLE)
    raise Refused(_OTHER_CODEC.format(mime_type.partition("/")[2].upper()))


def describe(context: AppContext, mime_type: str, source: int) -> str:
    """Returns ffmpeg's text about the file (tracks, sizes, durations). Raises SERVICE_UNAVAILABLE.

    ffmpeg reads the file from its beginning.
    """
    os.lseek(source, 0, os.SEEK_SET)
    arguments = ("-protocol_whitelist", "fd", "-f", FORMATS[mime_type][0], "-i", "fd:")
    limits = Limits(memory_bytes=MEMORY_BYTES, seconds=_SECONDS, cpu_seconds=_CPU_SECONDS, file_bytes=0)
    return run(context, arguments, (source, source), source, limits)[1]


def properties_in(output: str) -> FileFacts:
    """Reads a video's properties from ffmpeg's text about the file: all but type and size in bytes.

    Raises Refused when no track has pictures of a possible size.
    """
    pictures, lasts = _PICTURES.search(output), _DURATION.search(output)
    if pictures is None:
        raise Refused(_UNREADABLE)
    width, height, wide, high = (int(it or 0) for it in pictures.groups()[1:])
    if wide and high:
        width = round(width * wide / high)
    if _ON_ITS_SIDE.search(pictures[0]):
        width, height = height, width
    if not (0 < width <= _MAX_SIDE and 0 < height <= _MAX_SIDE):
        raise Refused(_UNREADABLE)
    seconds = int(lasts[1]) * 3600 + int(lasts[2]) * 60 + float(lasts[3]) if lasts else 0
    rate = _CONSTANT_FRAME_RATE.search(pictures[0]) if _COUNTS_FRAMES in output else None
    return FileFacts(
        type="video",
        width=width,
        height=height,
        duration_seconds=round(seconds, 3) if 0 < seconds < _MAX_SECONDS else None,
        frame_rate=float(rate[1]) or None if rate else None,
        video_codec=_video_codec(pictures),
        audio_codec=_audio_codec(output),
    )


def _video_codec(pictures: re.Match[str]) -> str:
    codec = pictures[1]
    pixels = _PIXELS.search(pictures[0]) if codec == "h264" else None
    return codec if pixels is None or pixels[0] in _USUAL_PIXELS else f"{codec} {pixels[0]}"


def _audio_codec(output: str) -> str:
    sound = _AUDIO.search(output)
    if sound is None:
        return "none"
    return sound[1] if sound[1] != "aac" or film_plan.is_usual_aac(sound[0]) else f"aac{sound[2]}{sound[3]}"


def run(
    context: AppContext,
    arguments: Sequence[str],
    ends: tuple[int, int],
    source: int,
    limits: Limits,
    hear: Callable[[bytes], None] = lambda _: None,
) -> tuple[int, str]:
    """Runs ffmpeg with `ends` as its descriptors 0 and 1, and `source` as 3.

    Returns ffmpeg's exit status and the last part of its messages. `hear` gets the messages as they come. The caller
    must have a turn of the sandbox, or limit the number of these processes in another way. Raises SERVICE_UNAVAILABLE
    when ffmpeg did not run to its end.
    """
    messages = _Messages(hear)
    command = (context.settings.ffmpeg, "-hide_banner", "-nostdin", *arguments)
    try:
        with _channel(messages.collect) as errors:
            status = context.sandbox_pool.run_program(command, (*ends, errors, source), limits, has_turn=True)
    except (NotStarted, WorkFailed) as error:
        log.warning("ffmpeg_not_run", problem=str(error))
        raise FfmpegEnded(SERVICE_UNAVAILABLE, retry_after_seconds=2) from error
    output = messages.tail.decode(errors="replace")
    if status in _ENDED_FROM_OUTSIDE or _NO_SPACE in output:
        log.warning("ffmpeg_ended", status=status, problem=output[-500:])
        kind = FfmpegEnded if status in _ENDED_FROM_OUTSIDE else ApiError
        raise kind(SERVICE_UNAVAILABLE, retry_after_seconds=5)
    return status, output


@contextmanager
def _channel(work: Callable[[socket.socket], None]) -> Iterator[int]:
    """Opens a channel and yields its end for a sandboxed process, as a descriptor. A thread runs `work` with the
    other end.

    An ApiError of `work` is raised at the block's end, whatever the process returned.
    """
    ours, theirs = socket.socketpair()
    errors: list[ApiError] = []

    def run() -> None:
        with ours:
            try:
                work(ours)
            except ApiError as error:
                errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        with theirs:
            yield theirs.fileno()
    finally:
        thread.join()
        if errors:
            raise errors[0]


class _Messages:
    """Collects what ffmpeg writes to its standard error, and keeps only the end of it."""

    def __init__(self, hear: Callable[[bytes], None]) -> None:
        self.tail, self._hear = b"", hear

    def collect(self, end: socket.socket) -> None:
        while piece := end.recv(_KEPT_OUTPUT_BYTES):
            self._hear(piece)
            self.tail = (self.tail + piece)[-_KEPT_OUTPUT_BYTES:]
