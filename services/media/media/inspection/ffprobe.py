"""What a film's headers leave open, asked of ffprobe where there is one: fragmented MP4 and recordings tell no length.

ffprobe reads strangers' bytes as everything else does that is confined, and only what it is fed: the film comes through
a pipe out of our own storage, and `pipe` is the one protocol it may speak. No address is given to it, and none that a
film names is opened. What it says is believed as little as the film: figures, or nothing.
"""

import re
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import structlog

from chassis.sandbox.pool import NotStarted, WorkFailed
from contracts.errors import SERVICE_UNAVAILABLE, ApiError
from contracts.record import Record
from media.context import AppContext
from media.records import Upload

log = structlog.get_logger()

#: The demuxer is named, never guessed: playlists and lists of files are films to ffprobe too.
_DEMUXERS = {"video/mp4": "mov", "video/quicktime": "mov", "video/webm": "matroska"}
_SHOWN = "packet=pts_time,duration_time:stream=width,height:stream_side_data=rotation"
#: Of a line for each packet the first few and the last few seconds' are kept. Our choice.
_HEAD_BYTES, _TAIL_BYTES = 4 * 1024, 128 * 1024
_PACKET = re.compile(r"^packet\|pts_time=(-?\d+\.?\d*)\|duration_time=(\d+\.?\d*|N/A)", re.MULTILINE)
_SIZE = re.compile(r"^stream\|width=(\d{1,5})\|height=(\d{1,5})(.*)$", re.MULTILINE)
_LYING = re.compile(r"rotation=-?(90|270)\b")
_MAX_SECONDS = 1e7


class Told(Record):
    """None where it does not tell either. `width` and `height` as shown."""

    width: int | None = None
    height: int | None = None
    duration_seconds: float | None = None


def command(ffprobe: str, mime_type: str) -> tuple[str, ...]:
    """ffprobe's path and arguments."""
    return (
        ffprobe,
        *("-v", "quiet", "-protocol_whitelist", "pipe", "-f", _DEMUXERS[mime_type], "-threads", "1"),
        *("-show_entries", _SHOWN, "-of", "compact", "pipe:0"),
    )


def probe(context: AppContext, upload: Upload) -> Told:
    """All of the film goes through ffprobe. Raises SERVICE_UNAVAILABLE."""
    ffprobe = context.settings.ffprobe
    if not ffprobe:
        return Told()
    outages: list[ApiError] = []
    output = Output()
    try:
        with (
            _pipe(lambda end: _feed(end, context.objects.pieces(upload.object_name), outages)) as given,
            _pipe(output.collect) as taken,
        ):
            context.workshop.run_program(command(ffprobe, upload.mime_type), (given, taken))
    except NotStarted as error:
        raise ApiError(SERVICE_UNAVAILABLE, retry_after_seconds=2) from error
    except WorkFailed as failure:
        log.warning("probe_failed", problem=str(failure), mime_type=upload.mime_type)
        return Told()
    if outages:
        raise outages[0]
    return output.read()


class Output:
    """What ffprobe writes: however much it is, its beginning and its end are kept."""

    def __init__(self) -> None:
        self.head, self.tail = b"", b""

    def collect(self, end: socket.socket) -> None:
        while piece := end.recv(64 * 1024):
            if len(self.head) < _HEAD_BYTES:
                self.head += piece
            self.tail = (self.tail + piece)[-_TAIL_BYTES:]

    def read(self) -> Told:
        """The figures in it."""
        begin, end = (text.decode("ascii", "replace") for text in (self.head, self.tail))
        starts = [float(pts) for pts, _ in _PACKET.findall(begin)]
        ends = [float(pts) + (0 if lasts == "N/A" else float(lasts)) for pts, lasts in _PACKET.findall(end)]
        seconds = max(ends) - min(starts) if starts and ends else 0
        width, height = _size(end)
        return Told(
            width=width,
            height=height,
            duration_seconds=round(seconds, 3) if 0 < seconds < _MAX_SECONDS else None,
        )


def _size(text: str) -> tuple[int | None, int | None]:
    """Of the first stream that has one."""
    found = next((it for it in _SIZE.finditer(text) if int(it[1]) and int(it[2])), None)
    if found is None:
        return None, None
    width, height = int(found[1]), int(found[2])
    return (height, width) if _LYING.search(found[3]) else (width, height)


def _feed(end: socket.socket, pieces: Iterable[bytes], outages: list[ApiError]) -> None:
    try:
        for piece in pieces:
            end.sendall(piece)
        end.shutdown(socket.SHUT_WR)
    except ApiError as outage:
        outages.append(outage)
    except OSError:
        """It has seen enough, or its time was over."""


@contextmanager
def _pipe(work: Callable[[socket.socket], None]) -> Iterator[int]:
    """A descriptor for ffprobe; `work` has the other end, in a thread that ends with it."""
    ours, theirs = socket.socketpair()

    def run() -> None:
        with ours:
            work(ours)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        with theirs:
            yield theirs.fileno()
    finally:
        thread.join()
