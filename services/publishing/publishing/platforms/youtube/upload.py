"""One resumable upload: the file goes up piece by piece, and after a break YouTube is asked how far it has come.

The video exists only once the last byte is there, and a session makes one video at most: going on is always safe.
"""

import re
import time
from dataclasses import dataclass

from publishing.platforms.base import Account, MediaSource, OutcomeUnknown, PlatformRefusal, Refusal
from publishing.platforms.pieces import Piece, Pieces
from publishing.platforms.wire import Reply, transient
from publishing.platforms.youtube.calls import LOST_SESSION, Answer, DataApi
from publishing.platforms.youtube.settings import YouTubeSettings

_RANGE = re.compile(r"bytes=0-(\d+)")
_LONGEST_WAIT_SECONDS = 8.0


@dataclass(frozen=True, slots=True)
class Standing:
    """How far a session is: the finished video, or the bytes that YouTube has; neither when the session is lost."""

    video: Answer | None = None
    received_bytes: int | None = None

    @property
    def is_lost(self) -> bool:
        return self.video is None and self.received_bytes is None


def standing(api: DataApi, account: Account, session: str, size_bytes: int) -> Standing:
    """Ask a session how far it is; changes nothing. Raises PlatformRefusal."""
    return _read(api.put(account, session, f"*/{size_bytes}"), size_bytes)


class Upload:
    """The upload of one file into one session; for one run."""

    def __init__(
        self, api: DataApi, settings: YouTubeSettings, account: Account, session: str, source: MediaSource
    ) -> None:
        self._api, self._settings, self._account = api, settings, account
        self._session, self._source = session, source
        self._size = source.length_bytes
        #: Whether the last piece may have come, and nothing has told since.
        self._is_doubtful = False
        #: Rounds in which nothing more arrived.
        self._breaks = 0

    def run(self, at: Standing) -> Answer:
        """The video, once the last byte is there. Raises OutcomeUnknown and PlatformRefusal."""
        while at.video is None:
            if at.received_bytes is None:
                raise self._ended(transient("SESSION_LOST", "YouTube has given up the upload session."))
            before = at.received_bytes
            now = self._sent_from(before)
            while now is None or (now.video is None and now.received_bytes == self._size):
                self._wait()
                now = self._asked()
            if now.received_bytes is not None and now.received_bytes <= before:
                self._wait()
            else:
                self._breaks = 0
            at = now
        return at.video

    def _sent_from(self, offset: int) -> Standing | None:
        """Sends what is missing, as long as YouTube takes each piece whole; how far it got, None after a break."""
        try:
            with self._source.open() as chunks:
                pieces = Pieces(chunks)
                pieces.skip(offset)
                while offset < self._size:
                    length = min(self._settings.chunk_bytes, self._size - offset)
                    at = self._put(Piece(pieces, length, self._source.content_type or "video/mp4"), offset)
                    offset += length
                    if at.received_bytes != offset:
                        return at
        except OutcomeUnknown:
            self._is_doubtful = True
            return None
        except PlatformRefusal as refusal:
            if refusal.kind is not Refusal.TRANSIENT or refusal.code.startswith("MEDIA_"):
                raise
            return None
        return Standing(received_bytes=self._size)

    def _put(self, piece: Piece, offset: int) -> Standing:
        end = offset + piece.length_bytes
        span = f"{offset}-{end - 1}/{self._size}"
        reply = self._api.put(self._account, self._session, span, piece, visible=end == self._size)
        return _read(reply, self._size)

    def _asked(self) -> Standing | None:
        """Where the session stands; None when that cannot be had just now."""
        try:
            at = standing(self._api, self._account, self._session, self._size)
        except PlatformRefusal as refusal:
            if refusal.kind is Refusal.TRANSIENT:
                return None
            raise self._ended(refusal) from refusal
        if at.received_bytes is not None:
            self._is_doubtful = at.received_bytes == self._size
        return at

    def _wait(self) -> None:
        self._breaks += 1
        if self._breaks > self._settings.resumes:
            raise self._ended(transient("UPLOAD_BROKEN", "The upload to YouTube broke off."))
        time.sleep(min(self._settings.resume_seconds * 2 ** (self._breaks - 1), _LONGEST_WAIT_SECONDS))

    def _ended(self, refusal: PlatformRefusal) -> Exception:
        """Why an upload stops: nothing is out, unless its last piece may have come."""
        if self._is_doubtful:
            return OutcomeUnknown(f"the last piece may have come, then: {refusal.code}")
        return refusal


def _read(reply: Reply, size_bytes: int) -> Standing:
    """What an answer to a piece or a probe says."""
    if reply.status in LOST_SESSION:
        return Standing()
    if reply.status == 308:
        found = _RANGE.fullmatch(reply.headers.get("Range", ""))
        return Standing(received_bytes=min(int(found[1]) + 1, size_bytes) if found else 0)
    if not isinstance(reply.body, dict) or not reply.body.get("id"):
        # All there, and not named: the next look may tell.
        return Standing(received_bytes=size_bytes)
    return Standing(video=reply.body)
