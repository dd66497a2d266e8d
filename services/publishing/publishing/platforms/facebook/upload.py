"""A film on its way to a Facebook page in pieces (platforms.md 2), sent on from where it stopped.

One call ends it, and before that nobody sees anything. A session that may have been ended is never left for another: an
attempt ends that one, or does not know.
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
from publishing.platforms.likeness import fingerprint
from publishing.platforms.meta.errors import Misplaced
from publishing.platforms.meta.graph import Answer, Graph
from publishing.platforms.pieces import Pieces
from publishing.platforms.wire import transient

#: How often one attempt goes on after a break that nothing came of. Our choice.
_BREAKS = 3
_NOTHING = dict.fromkeys(("content", "session", "next", "is_ending"))


class Upload:
    """Checkpoint values: `content` (its fingerprint), `session` (session and video id), `next` (start and end of the
    piece that comes next, in bytes), `is_ending` (the last call was on its way)."""

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
        """The id of the video that is out, which is stored. Raises PlatformRefusal, OutcomeUnknown."""
        mark, checkpoint = fingerprint(content), self._checkpoint
        is_resumed = checkpoint.get("session") is not None and checkpoint.get("content") == mark
        if not is_resumed:
            self._begin(mark)
        if not checkpoint.get("is_ending"):
            try:
                self._send()
            except PlatformRefusal as refusal:
                if refusal.kind is not Refusal.REJECTED or not is_resumed:
                    raise
                self._begin(mark)  # the session has run out
                self._send()
        self._end(content.message)
        video_id: str = checkpoint.get("session")["video_id"]
        checkpoint.save(**_NOTHING, video_id=video_id)
        return video_id

    def _begin(self, mark: str) -> None:
        answer = self._ask(upload_phase="start", file_size=self._source.length_bytes)
        session = {"id": _text(answer, "upload_session_id"), "video_id": _text(answer, "video_id")}
        self._checkpoint.save(content=mark, session=session, next=self._next(answer), is_ending=None)

    def _send(self) -> None:
        """All that Facebook does not have; again from where it says that it is, after a break."""
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
        """Sends piece after piece; where it ended, which is not behind where it began."""
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
                if start != sent:  # it did not take the piece, or not all of it
                    break
                self._checkpoint.save(next=[start, end])
        return [start, end]

    def _end(self, message: str) -> None:
        was_ending = bool(self._checkpoint.get("is_ending"))
        self._checkpoint.save(is_ending=True)
        words = {"upload_phase": "finish", "upload_session_id": self._session_id, "description": message}
        try:
            self._graph.finish(self._account, self._account.remote_account_id, "videos", **words)
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


def _text(answer: Answer, name: str) -> str:
    if not answer.get(name):
        raise transient("NO_ID", f"The platform's answer names no {name}.")
    return str(answer[name])
