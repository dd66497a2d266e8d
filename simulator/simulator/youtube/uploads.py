"""Resumable upload sessions. After the last byte the session gets its video (platforms.md 7).

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
    """An upload session. `video_id` is set after the last byte, `size_bytes` as soon as a call names the size."""

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
    """The range in the `Content-Range` of a call. Without a first byte the call sends no data and only asks for the
    state.
    """

    first: int | None
    end: int
    #: None: not known yet.
    size_bytes: int | None

    @property
    def is_probe(self) -> bool:
        return self.first is None

    @property
    def is_last(self) -> bool:
        return self.first is not None and self.end == self.size_bytes


def span_of(header: str | None, length_bytes: int) -> Span:
    """Parses `Content-Range`. Without this header the body is the whole file. Raises YouTubeError if the header is
    invalid.
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
        """Begins a session and returns its id."""
        upload_id = secrets.token_urlsafe(24)
        file = tempfile.TemporaryFile()  # noqa: SIM115
        self._open[upload_id] = Session(channel_id, video, size_bytes, file, notifies)
        return upload_id

    def find(self, upload_id: str, channel_id: str) -> Session:
        """Returns the channel's session with this id. Raises YouTubeError if YouTube would refuse the call."""
        session = self._open.get(upload_id)
        if session is None:
            raise YouTubeError(404, "notFound", "Not Found", "global")
        if session.channel_id != channel_id:
            raise YouTubeError(403, "forbidden", "Forbidden", "global")
        return session

    def clear(self) -> None:
        """Ends all sessions."""
        for session in self._open.values():
            session.file.close()
        self._open.clear()


def take(session: Session, span: Span, read: Callable[[int], bytes]) -> None:
    """Adds a piece to a session. Raises YouTubeError if it does not begin where the last one ended, is too long, or is
    not the last one and no multiple of 256 KiB.
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
        except Exception:  # noqa: BLE001 - the caller has gone, in whatever words
            data = b""
        if not data:
            break
        session.file.write(data)
        at, left = at + len(data), left - len(data)
    session.received_bytes = at if at == session.size_bytes else max(first, at // GRAIN_BYTES * GRAIN_BYTES)


def is_film(session: Session) -> bool:
    """Whether the uploaded bytes are those of a video file (WebM or MP4) and not of anything else."""
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
    """Returns a new id of eleven characters, as YouTube's are."""
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    number, text = int(world.new_id()), ""
    for _ in range(11):
        number, digit = divmod(number, 64)
        text = letters[digit] + text
    return text
