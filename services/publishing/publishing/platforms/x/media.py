"""Uploads files to X: photos in one call, GIFs and videos in segments, so that a later attempt can resume the
upload."""

import time

from publishing.platforms.base import Account, Checkpoint, MediaSource, PlatformRefusal, Refusal
from publishing.platforms.http_client import Answer, required, transient
from publishing.platforms.uploads.multipart import Multipart
from publishing.platforms.uploads.pieces import Pieces
from publishing.platforms.uploads.staged_files import (
    KEPT_SECONDS,
    StagedFiles,
    Upload,
    save_upload,
    uploads_in,
)
from publishing.platforms.x.calls import Calls
from publishing.platforms.x.settings import XSettings

#: Segments between two checkpoints: a retry repeats at most 8 MB. Our choice.
_SEGMENTS_PER_SAVE = 8
#: Tries of one segment within an attempt. The next attempt continues at this segment.
_TRIES = 3
_LONGEST_WAIT_SECONDS = 5.0
_PHOTO, _GIF, _VIDEO = "tweet_image", "tweet_gif", "tweet_video"


class Uploads(StagedFiles):
    """The uploads of a post's files to X.

    Values of an `Upload`: `id`, `state` (sending, processing, ready), `until` (until when it can be resumed, seconds
    since 1970) and `segments` (how many have been sent).
    """

    def __init__(self, calls: Calls, settings: XSettings) -> None:
        self._calls = calls
        self._settings = settings

    def begin(self, account: Account, source: MediaSource) -> Upload:
        category = _category(source)
        if category == _PHOTO:
            form = Multipart({"media_category": category}, "media", source)
            answer, state = self._calls.stage(account, "media/upload", form), "processing"
        else:
            data = {
                "media_type": source.content_type,
                "total_bytes": source.length_bytes,
                "media_category": category,
            }
            answer, state = self._calls.stage(account, "media/upload/initialize", data), "sending"
        made = answer.get("data") or {}
        until = time.time() + float(made.get("expires_after_secs") or KEPT_SECONDS)
        return {"id": required(made, "id"), "state": state, "segments": 0, "until": until}

    def finish(self, account: Account, source: MediaSource, checkpoint: Checkpoint, number: int) -> None:
        upload = uploads_in(checkpoint)[number]
        if upload["state"] == "ready":
            return
        if upload["state"] == "sending":
            self._send(account, source, checkpoint, number)
        if _category(source) != _PHOTO:
            self._wait(account, upload["id"])
        save_upload(checkpoint, number, state="ready")

    def may_be_stale(self, refusal: PlatformRefusal, upload: Upload) -> bool:
        return refusal.kind is Refusal.REJECTED and upload["state"] != "ready"

    def _send(self, account: Account, source: MediaSource, checkpoint: Checkpoint, number: int) -> None:
        upload = uploads_in(checkpoint)[number]
        path, sent = f"media/upload/{upload['id']}", int(upload["segments"])
        size_bytes = self._settings.segment_bytes
        with source.open() as chunks:
            pieces = Pieces(chunks)
            pieces.skip(sent * size_bytes)
            for index in range(sent, -(-source.length_bytes // size_bytes)):
                length = min(size_bytes, source.length_bytes - index * size_bytes)
                body = b"".join(pieces.take(length))
                self._append(account, path, index, body)
                if (index + 1) % _SEGMENTS_PER_SAVE == 0:
                    save_upload(checkpoint, number, segments=index + 1)
        self._calls.stage(account, f"{path}/finalize")
        save_upload(checkpoint, number, state="processing")

    def _append(self, account: Account, path: str, index: int, body: bytes) -> None:
        """Sends one segment of a file. Raises PlatformRefusal if X refuses it.

        After a temporary failure sends the segment again, because X keeps only one segment per index.
        """
        piece = MediaSource("segment", body=body, content_type="application/octet-stream")
        for tries_left in reversed(range(_TRIES)):
            try:
                form = Multipart({"segment_index": index}, "media", piece)
                self._calls.stage(account, f"{path}/append", form)
                return
            except PlatformRefusal as refusal:
                if refusal.kind is not Refusal.TRANSIENT or not tries_left:
                    raise
            time.sleep(self._settings.poll_seconds)

    def _wait(self, account: Account, media_id: str) -> None:
        """Waits until X has processed a file, polling as often as X says. Raises PlatformRefusal if it failed or is not
        done in time."""
        until = time.monotonic() + self._settings.poll_limit_seconds
        while True:
            info = self._processing(account, media_id)
            state = info.get("state", "succeeded")
            if state == "succeeded":
                return
            if state == "failed":
                raise _failed(info.get("error") or {})
            asked = info.get("check_after_secs")
            wait = asked if isinstance(asked, int) else 1
            wait_seconds = min(max(wait, self._settings.poll_seconds), _LONGEST_WAIT_SECONDS)
            if time.monotonic() + wait_seconds > until:
                raise transient("NOT_READY", "X is still processing the media.")
            time.sleep(wait_seconds)

    def _processing(self, account: Account, media_id: str) -> Answer:
        """Returns X's `processing_info` of a file; it is empty if nothing is left to do. If X has a temporary failure,
        the file counts as still being processed.
        """
        try:
            answer = self._calls.read(account, "media/upload", command="STATUS", media_id=media_id)
        except PlatformRefusal as refusal:
            if refusal.kind is Refusal.TRANSIENT:
                return {"state": "in_progress"}
            raise
        info: Answer = (answer.get("data") or {}).get("processing_info") or {}
        return info


def _category(source: MediaSource) -> str:
    if source.type == "video":
        return _VIDEO
    return _GIF if source.content_type == "image/gif" else _PHOTO


def _failed(error: Answer) -> PlatformRefusal:
    message = str(error.get("message") or error.get("detail") or "X could not process the media.")
    return PlatformRefusal(Refusal.REJECTED, str(error.get("name") or error.get("code") or "failed"), message)
