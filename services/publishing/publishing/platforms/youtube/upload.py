"""Uploads a video to YouTube in pieces. After a failure YouTube is asked how many bytes it has.

The video exists only after the last byte, and an upload session makes at most one video, so resuming is always safe.
"""

import re
import time
from dataclasses import dataclass

from publishing.platforms.base import Account, MediaSource, OutcomeUnknown, PlatformRefusal, Refusal
from publishing.platforms.http_client import Answer, Response, transient
from publishing.platforms.uploads.pieces import Piece, Pieces
from publishing.platforms.youtube.calls import LOST_SESSION, DataApi
from publishing.platforms.youtube.settings import YouTubeSettings

_RANGE = re.compile(r"bytes=0-(\d+)")
_LONGEST_WAIT_SECONDS = 8.0


@dataclass(frozen=True, slots=True)
class UploadState:
    """The state of an upload session: the finished video, or how many bytes YouTube has. Both are None if the session
    no longer exists."""

    video: Answer | None = None
    received_bytes: int | None = None

    @property
    def is_lost(self) -> bool:
        return self.video is None and self.received_bytes is None


def upload_state(api: DataApi, account: Account, session: str, size_bytes: int) -> UploadState:
    """Asks YouTube for the state of an upload session. Raises PlatformRefusal if YouTube refuses."""
    return _read(api.put(account, session, f"*/{size_bytes}"), size_bytes)


class Upload:
    """Sends the rest of a file in an upload session."""

    def __init__(
        self, api: DataApi, settings: YouTubeSettings, account: Account, session: str, source: MediaSource
    ) -> None:
        self._api, self._settings, self._account = api, settings, account
        self._session, self._source = session, source
        self._size = source.length_bytes
        #: Whether the last piece may have arrived; the session's state has not shown it.
        self._is_doubtful = False
        #: Rounds in a row without progress.
        self._breaks = 0

    def run(self, at: UploadState) -> Answer:
        """Sends the rest of the file and returns the finished video. Raises PlatformRefusal if YouTube refuses, and
        OutcomeUnknown if the last piece may have arrived.
        """
        while at.video is None:
            if at.received_bytes is None:
                raise self._ended(transient("SESSION_LOST", "The upload session has expired at YouTube."))
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

    def _sent_from(self, offset: int) -> UploadState | None:
        """Sends piece after piece while YouTube accepts each piece completely.

        Returns the state of the session; None if it is not known, after a temporary failure or a missing answer. Raises
        PlatformRefusal for any other refusal, and if the file cannot be read.
        """
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
        return UploadState(received_bytes=self._size)

    def _put(self, piece: Piece, offset: int) -> UploadState:
        end = offset + piece.length_bytes
        span = f"{offset}-{end - 1}/{self._size}"
        response = self._api.put(self._account, self._session, span, piece, visible=end == self._size)
        return _read(response, self._size)

    def _asked(self) -> UploadState | None:
        """Asks for the state of the upload session; returns None if YouTube does not answer now.

        If YouTube refuses, raises the error that `_ended` returns.
        """
        try:
            at = upload_state(self._api, self._account, self._session, self._size)
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
        """Returns the error with which an upload ends: OutcomeUnknown if its last piece may have arrived, else this
        refusal."""
        if self._is_doubtful:
            return OutcomeUnknown(f"the last piece may have arrived, then: {refusal.code}")
        return refusal


def _read(response: Response, size_bytes: int) -> UploadState:
    """Reads the state of the session from YouTube's answer to a piece, or to the question how many bytes it has."""
    if response.status in LOST_SESSION:
        return UploadState()
    if response.status == 308:
        found = _RANGE.fullmatch(response.headers.get("Range", ""))
        return UploadState(received_bytes=min(int(found[1]) + 1, size_bytes) if found else 0)
    if not isinstance(response.body, dict) or not response.body.get("id"):
        # Complete, but without an id: the next probe may have it.
        return UploadState(received_bytes=size_bytes)
    return UploadState(video=response.body)
