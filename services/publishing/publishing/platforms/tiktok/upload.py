"""Uploads a video to TikTok in chunks. An upload makes at most one post, so a chunk may be sent again."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from publishing.platforms.base import MediaSource, PlatformRefusal, Refusal
from publishing.platforms.http_client import Response, transient
from publishing.platforms.tiktok.calls import PostingApi
from publishing.platforms.tiktok.settings import TikTokSettings
from publishing.platforms.uploads.pieces import Piece, Pieces

_LONGEST_WAIT_SECONDS = 8.0
#: TikTok has the chunk already, or expects another one: the post's status shows which in the end.
_ALREADY_THERE = 416
#: The address has expired.
_LOST = (401, 403, 404, 410)
UPLOAD_LOST = "UPLOAD_LOST"


@dataclass(frozen=True, slots=True)
class Chunks:
    """The chunks of a file: all of one size, except the last, which also holds the remainder (docs/platforms.md,
    section 5)."""

    size_bytes: int
    chunk_bytes: int
    count: int

    def first(self, number: int) -> int:
        """Returns the position of the first byte of a chunk. Chunks count from 0."""
        return number * self.chunk_bytes

    def end(self, number: int) -> int:
        """Returns the position after the last byte of a chunk."""
        return self.size_bytes if self.is_last(number) else (number + 1) * self.chunk_bytes

    def is_last(self, number: int) -> bool:
        return number == self.count - 1


def cut(size_bytes: int, chunk_bytes: int) -> Chunks:
    """Divides a file into chunks of `chunk_bytes`, of which the last also has the remainder. A file of less than two
    such chunks becomes a single chunk."""
    if size_bytes < 2 * chunk_bytes:
        return Chunks(size_bytes, size_bytes, 1)
    return Chunks(size_bytes, chunk_bytes, size_bytes // chunk_bytes)


class Upload:
    """Sends a file to the upload address that TikTok gave for it, from any chunk to the last."""

    def __init__(
        self, api: PostingApi, settings: TikTokSettings, upload_url: str, source: MediaSource, chunks: Chunks
    ) -> None:
        self._api, self._settings = api, settings
        self._url, self._source, self._chunks = upload_url, source, chunks
        #: The next chunk, and the breaks while sending it.
        self._number = 0
        self._breaks = 0

    def run(self, number: int, before_last: Callable[[], None], arrived: Callable[[int], None]) -> None:
        """Sends all chunks from `number` on.

        Calls `before_last` before the last chunk. After each chunk calls `arrived` with the number of the next chunk.
        Raises PlatformRefusal if TikTok does not take a chunk.

        For the last chunk, returns without an error if TikTok does not answer, or no longer knows the upload address:
        the post's status then shows whether the chunk has arrived.
        """
        self._number = number
        while self._number < self._chunks.count:
            try:
                self._send(before_last, arrived)
            except PlatformRefusal as refusal:
                if refusal.kind is not Refusal.TRANSIENT or refusal.code.startswith("MEDIA_"):
                    raise
                self._breaks += 1
                if refusal.code == UPLOAD_LOST or self._breaks > self._settings.resumes:
                    if self._chunks.is_last(self._number):
                        return
                    raise
                wait = self._settings.resume_seconds * 2 ** (self._breaks - 1)
                time.sleep(min(wait, _LONGEST_WAIT_SECONDS))

    def _send(self, before_last: Callable[[], None], arrived: Callable[[int], None]) -> None:
        """Opens the file and sends chunk after chunk until all are sent or one fails."""
        chunks = self._chunks
        with self._source.open() as blocks:
            pieces = Pieces(blocks)
            pieces.skip(chunks.first(self._number))
            while self._number < chunks.count:
                first, end = chunks.first(self._number), chunks.end(self._number)
                piece = Piece(pieces, end - first, self._source.content_type or "video/mp4")
                span, is_last = f"{first}-{end - 1}/{chunks.size_bytes}", chunks.is_last(self._number)
                if is_last:
                    before_last()
                _check(self._api.put(self._url, span, piece, completes=is_last))
                self._number += 1
                self._breaks = 0
                arrived(self._number)
                if not piece.is_sent:
                    return  # answered before the chunk was sent whole: the file must be opened again at the next chunk


def _check(response: Response) -> None:
    """Raises PlatformRefusal if a chunk was not accepted."""
    if response.is_good or response.status == _ALREADY_THERE:
        return
    if response.status in _LOST:
        raise transient(UPLOAD_LOST, "TikTok's upload address has expired.")
    if response.status >= 500 or response.status in (408, 429):
        raise transient(f"HTTP_{response.status}", "TikTok did not accept a piece of the video.")
    raise PlatformRefusal(
        Refusal.REJECTED, f"HTTP_{response.status}", "TikTok refuses a piece of the video's file."
    )
