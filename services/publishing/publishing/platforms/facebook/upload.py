"""Resumable upload of a video to a Facebook page (docs/platforms.md, section 2).

Only the last call, which finishes the upload session, publishes the video. Once that call may have been sent, no other
session is begun. The next attempt repeats the call for the same session; if Facebook then refuses it, the outcome stays
unknown.
"""

import time
from contextlib import nullcontext

from publishing.platforms.base import (
    Account,
    Checkpoint,
    Content,
    MediaSource,
    OutcomeUnknown,
    PlatformRefusal,
    Refusal,
)
from publishing.platforms.http_client import Answer, required, transient
from publishing.platforms.meta.errors import Misplaced
from publishing.platforms.meta.graph import Graph
from publishing.platforms.post_matching import content_hash
from publishing.platforms.uploads.pieces import Pieces

#: Codes of an API that does not know the protocol (any more): invalid parameter, deprecated method, unknown path.
_NOT_SERVED = ("100", "12", "2500")
#: Breaks in a row without progress after which an attempt gives up. The next attempt continues the session.
_BREAKS = 3
_NOTHING = dict.fromkeys(("content", "session", "next", "is_ending"))


def described(content: Content) -> Answer:
    """Returns the parameters of the call that publishes a video: its text, and Facebook's AI label."""
    is_ai_made = content.is_ai_made or content.settings.get("is_ai_generated")
    return {"description": content.message} | ({"is_ai_generated": "true"} if is_ai_made else {})


class NotServed(PlatformRefusal):
    """Raised when Facebook does not accept this upload in pieces. No upload session was begun."""


class Upload:
    """One resumable upload of a video.

    Checkpoint values: `content` (hash of the content), `session` (ids of the upload session and the video), `next`
    (start and end of the next piece, in bytes), `is_ending` (the last call may have been sent).
    """

    def __init__(
        self,
        graph: Graph,
        account: Account,
        source: MediaSource,
        checkpoint: Checkpoint,
        *,
        pause_seconds: float,
    ) -> None:
        self._graph, self._account, self._source = graph, account, source
        self._checkpoint, self._pause_seconds = checkpoint, pause_seconds

    def run(self, content: Content) -> str:
        """Uploads and publishes the video. Returns its id, which is stored in the checkpoint too.

        Raises NotServed if Facebook does not accept an upload in pieces, and PlatformRefusal if it refuses for another
        reason. Raises OutcomeUnknown if the call that publishes the video got no usable answer.
        """
        mark, checkpoint = content_hash(content), self._checkpoint
        is_resumed = checkpoint.get("session") is not None and checkpoint.get("content") == mark
        if not is_resumed:
            self._begin(mark)
        if not checkpoint.get("is_ending"):
            try:
                self._send()
            except PlatformRefusal as refusal:
                if refusal.kind is not Refusal.REJECTED or not is_resumed:
                    raise
                self._begin(mark)  # the session has expired
                self._send()
        self._end(content)
        video_id: str = checkpoint.get("session")["video_id"]
        checkpoint.save(**_NOTHING, video_id=video_id)
        return video_id

    def _begin(self, mark: str) -> None:
        try:
            answer = self._ask(upload_phase="start", file_size=self._source.length_bytes)
        except PlatformRefusal as refusal:
            if refusal.code in _NOT_SERVED:
                raise NotServed(refusal.kind, refusal.code, refusal.message) from refusal
            raise
        session = {"id": required(answer, "upload_session_id"), "video_id": required(answer, "video_id")}
        self._checkpoint.save(content=mark, session=session, next=self._next(answer), is_ending=None)

    def _send(self) -> None:
        """Sends the rest of the file. Gives up with a PlatformRefusal if sending breaks off several times without
        progress.

        If a connection breaks, sending starts again at the position that Facebook asked for last. If Facebook asks for
        another position, sending continues there.
        """
        start, end = self._checkpoint.get("next")
        breaks = 0
        while start < end:
            try:
                reached = self._sent_from(start, end)
            except Misplaced as told:
                reached = self._within(told.start, told.end)
            except PlatformRefusal as refusal:
                if refusal.kind is not Refusal.TRANSIENT or breaks == _BREAKS:
                    raise
                reached = self._checkpoint.get("next")
            breaks = 0 if reached[0] > start else breaks + 1
            if breaks > _BREAKS:
                raise transient("UPLOAD_STUCK", "Facebook asks for the same piece again and again.")
            if breaks:
                time.sleep(self._pause_seconds * 2**breaks)
            start, end = reached
            self._checkpoint.save(next=[start, end])

    def _sent_from(self, start: int, end: int) -> list[int]:
        """Sends piece after piece until the file ends or Facebook accepts a piece only in part. Returns start and end
        of the next piece, in bytes."""
        with self._source.open() as chunks:
            pieces = Pieces(chunks)
            pieces.skip(start)
            while start < end:
                answer = self._ask(
                    {"video_file_chunk": self._piece(pieces, end - start)},
                    upload_phase="transfer",
                    upload_session_id=self._session_id,
                    start_offset=start,
                )
                sent, (start, end) = end, self._next(answer)
                if start != sent:  # Facebook did not accept the whole piece
                    break
                self._checkpoint.save(next=[start, end])
        return [start, end]

    def _end(self, content: Content) -> None:
        was_ending = bool(self._checkpoint.get("is_ending"))
        self._checkpoint.save(is_ending=True)
        fields = {"upload_phase": "finish", "upload_session_id": self._session_id, **described(content)}
        try:
            self._graph.finish(self._account, self._account.remote_account_id, "videos", **fields)
        except PlatformRefusal as refusal:
            if was_ending and refusal.kind is Refusal.REJECTED:
                raise OutcomeUnknown("an earlier call may have ended the upload") from refusal
            if not was_ending:
                self._checkpoint.save(is_ending=None)
            if refusal.kind is Refusal.REJECTED:
                self._checkpoint.save(**_NOTHING)
            raise

    def _ask(self, file: dict[str, MediaSource] | None = None, **params: object) -> Answer:
        return self._graph.ask(self._account, self._account.remote_account_id, "videos", file, **params)

    @property
    def _session_id(self) -> str:
        session_id: str = self._checkpoint.get("session")["id"]
        return session_id

    def _piece(self, pieces: Pieces, length_bytes: int) -> MediaSource:
        return MediaSource(
            "video",
            content_type="application/octet-stream",
            size_bytes=length_bytes,
            opener=lambda: nullcontext(map(bytes, pieces.take(length_bytes))),
        )

    def _next(self, answer: Answer) -> list[int]:
        try:
            return self._within(int(answer["start_offset"]), int(answer["end_offset"]))
        except (KeyError, ValueError, TypeError) as error:
            raise transient(
                "NO_OFFSETS", "The platform's answer does not say which piece comes next."
            ) from error

    def _within(self, start: int, end: int) -> list[int]:
        if not 0 <= start <= end <= self._source.length_bytes:
            raise transient("STRANGE_OFFSETS", "The platform asks for a piece that is not in the file.")
        return [start, end]
