"""Resumable upload sessions. The session's video is created after the last byte (docs/platforms.md, section 7).

If the transfer of a piece breaks off, its complete blocks of 256 KiB are kept, as at Google. Files are stored on disk.
"""

import mmap
import re
import secrets
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import IO, Any

from simulator import inspection
from simulator.world import World
from simulator.youtube.errors import YouTubeError, invalid

GRAIN_BYTES = 256 * 1024
_READ_BYTES = 256 * 1024
_SPAN = re.compile(r"bytes (?:(\d+)-(\d+)|\*)/(\d+|\*)")
_WEBM = b"\x1a\x45\xdf\xa3"


@dataclass(slots=True)
class Session:
    """An upload session. `size_bytes` is None until a call names the size, `video_id` is None until the last byte has
    come.
    """

    channel_id: str
    video: dict[str, Any]
    size_bytes: int | None
    file: IO[bytes]
    notifies: bool = True
    received_bytes: int = 0
    video_id: str | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)


@dataclass(frozen=True, slots=True)
class Span:
    """The parsed header Content-Range: the first byte of the piece, and the byte after its end. `first` is None in a
    call without data, which only asks how many bytes have been received.
    """

    first: int | None
    end: int
    #: Size of the whole file; None if the header does not name it.
    size_bytes: int | None

    @property
    def is_probe(self) -> bool:
        return self.first is None

    @property
    def is_last(self) -> bool:
        return self.first is not None and self.end == self.size_bytes


def span_of(header: str | None, length_bytes: int) -> Span:
    """Parses the header Content-Range. Without it, the body of `length_bytes` is the whole file. Raises YouTubeError
    if it is invalid.
    """
    if header is None and length_bytes:
        return Span(0, length_bytes, length_bytes)
    found = _SPAN.fullmatch(header or "")
    if found is None:
        raise invalid("badContent", "Failed to parse Content-Range header.", "global")
    size_bytes = None if found[3] == "*" else int(found[3])
    if found[1] is None:
        return Span(None, 0, size_bytes)
    return Span(int(found[1]), int(found[2]) + 1, size_bytes)


class Sessions:
    """The upload sessions of one simulator."""

    def __init__(self) -> None:
        self._open: dict[str, Session] = {}

    def begin(
        self, channel_id: str, video: dict[str, Any], size_bytes: int | None, *, notifies: bool = True
    ) -> str:
        """Begins a session for a video with this checked metadata, and returns the session's id. `notifies`: whether
        YouTube should notify the channel's subscribers of the video.
        """
        upload_id = secrets.token_urlsafe(24)
        file = tempfile.TemporaryFile()  # noqa: SIM115
        self._open[upload_id] = Session(channel_id, video, size_bytes, file, notifies)
        return upload_id

    def find(self, upload_id: str, channel_id: str) -> Session:
        """Returns the session with this id. Raises YouTubeError 404 if there is none, 403 if it belongs to another
        channel.
        """
        session = self._open.get(upload_id)
        if session is None:
            raise YouTubeError(404, "notFound", "Not Found", "global")
        if session.channel_id != channel_id:
            raise YouTubeError(403, "forbidden", "Forbidden", "global")
        return session

    def clear(self) -> None:
        """Ends all sessions and closes their files."""
        for session in self._open.values():
            session.file.close()
        self._open.clear()


def take(session: Session, span: Span, read: Callable[[int], bytes]) -> None:
    """Stores a piece of the file, which `read` reads from the request. Raises YouTubeError if the piece does not begin
    where the last one ended, if it is too long, or if it is neither the last one nor a multiple of 256 KiB.
    """
    first = span.first or 0
    size_bytes = span.end if session.size_bytes is None else session.size_bytes
    if first != session.received_bytes or span.end > size_bytes or span.end <= first:
        raise invalid("badContent", "The piece does not begin where the last one ended.", "global")
    if not span.is_last and (span.end - first) % GRAIN_BYTES:
        raise invalid("badContent", "A piece has to be a multiple of 256 KiB.", "global")
    session.file.seek(first)
    at, left = first, span.end - first
    while left > 0:
        try:
            data = read(min(_READ_BYTES, left))
        except Exception:  # noqa: BLE001 - the client has gone; each server raises another error
            data = b""
        if not data:
            break
        session.file.write(data)
        at, left = at + len(data), left - len(data)
    session.received_bytes = at if at == session.size_bytes else max(first, at // GRAIN_BYTES * GRAIN_BYTES)


def is_film(session: Session) -> bool:
    """Whether the uploaded file is a video (WebM, MP4 or MOV)."""
    session.file.flush()
    with mmap.mmap(session.file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        if data[:4] == _WEBM:
            return True
        try:
            inspection.video(data)  # type: ignore[arg-type]
        except inspection.NotMedia:
            return False
        return True


def video_id_of(world: World) -> str:
    """Returns a new video id of eleven characters, as YouTube has."""
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    number, text = int(world.new_id()), ""
    for _ in range(11):
        number, digit = divmod(number, 64)
        text = letters[digit] + text
    return text
