"""Asks ffprobe for what a video's headers lack: fragmented MP4 files and browser recordings have no duration.

ffprobe runs in the sandbox. It gets the video through a pipe from our own storage, may use no protocol but `pipe`, and
opens no address that a video names. Its output is trusted no more than the video: figures are read, or nothing.
"""

import re
import socket
from collections.abc import Iterable
from contextlib import suppress
from functools import partial

import structlog

from chassis.sandbox.pool import NotStarted, WorkFailed
from contracts.errors import SERVICE_UNAVAILABLE, ApiError
from contracts.record import Record
from media.context import AppContext
from media.inspection.channels import channel
from media.records import Upload

log = structlog.get_logger()

#: The demuxer is fixed: if ffprobe guesses, it also reads playlists and lists of files.
_DEMUXERS = {"video/mp4": "mov", "video/quicktime": "mov", "video/webm": "matroska"}
_SHOWN = "packet=pts_time,duration_time:stream=width,height:stream_side_data=rotation"
#: There is a line per packet; those of the first and the last few seconds are kept. Our choice.
_HEAD_BYTES, _TAIL_BYTES = 4 * 1024, 128 * 1024
_PACKET = re.compile(r"^packet\|pts_time=(-?\d+\.?\d*)\|duration_time=(\d+\.?\d*|N/A)", re.MULTILINE)
_SIZE = re.compile(r"^stream\|width=(\d{1,5})\|height=(\d{1,5})(.*)$", re.MULTILINE)
_ROTATED = re.compile(r"rotation=-?(90|270)\b")
_MAX_SECONDS = 1e7


class ProbeResult(Record):
    """None where ffprobe does not tell either. Width and height as displayed."""

    width: int | None = None
    height: int | None = None
    duration_seconds: float | None = None


def command(ffprobe: str, mime_type: str) -> tuple[str, ...]:
    """Returns ffprobe's path and arguments."""
    return (
        ffprobe,
        *("-v", "quiet", "-protocol_whitelist", "pipe", "-f", _DEMUXERS[mime_type], "-threads", "1"),
        *("-show_entries", _SHOWN, "-of", "compact", "pipe:0"),
    )


def probe(context: AppContext, upload: Upload) -> ProbeResult:
    """Sends the whole video through ffprobe. Raises SERVICE_UNAVAILABLE."""
    ffprobe = context.settings.ffprobe
    if not ffprobe:
        return ProbeResult()
    output = ProbeOutput()
    try:
        with (
            channel(partial(_feed, context.bucket.pieces(upload.object_name))) as given,
            channel(output.collect) as taken,
        ):
            context.sandbox_pool.run_program(command(ffprobe, upload.mime_type), (given, taken))
    except NotStarted as error:
        raise ApiError(SERVICE_UNAVAILABLE, retry_after_seconds=2) from error
    except WorkFailed as failure:
        log.warning("probe_failed", problem=str(failure), mime_type=upload.mime_type)
        return ProbeResult()
    return output.read()


class ProbeOutput:
    """The beginning and end of ffprobe's output, however long it is."""

    def __init__(self) -> None:
        self.head, self.tail = b"", b""

    def collect(self, end: socket.socket) -> None:
        while piece := end.recv(64 * 1024):
            if len(self.head) < _HEAD_BYTES:
                self.head += piece
            self.tail = (self.tail + piece)[-_TAIL_BYTES:]

    def read(self) -> ProbeResult:
        """Returns the figures in the output."""
        begin, end = (text.decode("ascii", "replace") for text in (self.head, self.tail))
        starts = [float(pts) for pts, _ in _PACKET.findall(begin)]
        ends = [float(pts) + (0 if lasts == "N/A" else float(lasts)) for pts, lasts in _PACKET.findall(end)]
        seconds = max(ends) - min(starts) if starts and ends else 0
        width, height = _size(end)
        return ProbeResult(
            width=width,
            height=height,
            duration_seconds=round(seconds, 3) if 0 < seconds < _MAX_SECONDS else None,
        )


def _size(text: str) -> tuple[int | None, int | None]:
    """Returns the size of the first stream that has one."""
    found = next((it for it in _SIZE.finditer(text) if int(it[1]) and int(it[2])), None)
    if found is None:
        return None, None
    width, height = int(found[1]), int(found[2])
    return (height, width) if _ROTATED.search(found[3]) else (width, height)


def _feed(pieces: Iterable[bytes], end: socket.socket) -> None:
    """Sends the video, until ffprobe has read enough or reached its time limit. Raises SERVICE_UNAVAILABLE."""
    with suppress(OSError):
        for piece in pieces:
            end.sendall(piece)
        end.shutdown(socket.SHUT_WR)
