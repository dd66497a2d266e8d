"""Files on their way into X: photos in one call, GIFs and videos in segments that an attempt after can go on with."""

import time
from typing import Any

from publishing.platforms.base import (
    Account,
    Checkpoint,
    Content,
    MediaSource,
    PlatformRefusal,
    Refusal,
)
from publishing.platforms.multipart import Multipart
from publishing.platforms.pieces import Pieces
from publishing.platforms.sources import check_bytes
from publishing.platforms.wire import transient
from publishing.platforms.x.calls import Answer, Calls
from publishing.platforms.x.settings import XSettings

#: How far an upload has come. `until` is when X forgets it, in seconds since 1970.
Upload = dict[str, Any]

#: Segments between two checkpoints: what a retry sends again at most. Our choice.
_SEGMENTS_PER_SAVE = 8
#: Of a segment, within one attempt. Our choice.
_TRIES = 3
#: An upload that X forgets so soon is not gone on with. Our choice.
_SPARE_SECONDS = 300.0
#: What X keeps an upload for where it does not say (platforms.md 6 names no figure). Our choice: careful.
_KEPT_SECONDS = 3_600.0
_LONGEST_WAIT_SECONDS = 5.0


class Uploads:
    """Checkpoint value `media`: one `Upload` for each file, in their order."""

    def __init__(self, calls: Calls, settings: XSettings) -> None:
        self._calls = calls
        self._settings = settings

    def ready_ids(self, account: Account, content: Content, checkpoint: Checkpoint) -> list[str]:
        """Ids that a post can carry; goes on where the last attempt stopped. Raises PlatformRefusal."""
        for number, source in enumerate(content.media):
            check_bytes(source)
            known = _uploads(checkpoint)[number:]
            if known and known[0]["until"] - time.time() > _SPARE_SECONDS:
                try:
                    self._bring(account, source, checkpoint, number)
                    continue
                except PlatformRefusal as refusal:
                    # X knows the upload no longer, or the file cannot be read by it: a fresh one tells which.
                    if refusal.kind is not Refusal.REJECTED or known[0]["state"] == "ready":
                        raise
            self._begin(account, source, checkpoint, number)
            self._bring(account, source, checkpoint, number)
        return [str(upload["id"]) for upload in _uploads(checkpoint)]

    def _begin(self, account: Account, source: MediaSource, checkpoint: Checkpoint, number: int) -> None:
        if _category(source) == "tweet_image":
            form = Multipart({"media_category": "tweet_image"}, "media", source)
            answer, state = self._calls.stage(account, "media/upload", form), "processing"
        else:
            data = {
                "media_type": source.content_type,
                "total_bytes": source.length_bytes,
                "media_category": _category(source),
            }
            answer, state = self._calls.stage(account, "media/upload/initialize", data), "sending"
        made = answer.get("data") or {}
        if not made.get("id"):
            raise transient("NO_ID", "The platform's answer names no id.")
        until = time.time() + float(made.get("expires_after_secs") or _KEPT_SECONDS)
        upload = {"id": str(made["id"]), "state": state, "segments": 0, "until": until}
        checkpoint.save(media=[*_uploads(checkpoint)[:number], upload])

    def _bring(self, account: Account, source: MediaSource, checkpoint: Checkpoint, number: int) -> None:
        """From wherever it is to ready."""
        upload = _uploads(checkpoint)[number]
        if upload["state"] == "sending":
            self._send(account, source, checkpoint, number)
            upload = _uploads(checkpoint)[number]
        if upload["state"] == "processing":
            if _category(source) != "tweet_image":
                self._wait(account, upload["id"])
            _save(checkpoint, number, state="ready")

    def _send(self, account: Account, source: MediaSource, checkpoint: Checkpoint, number: int) -> None:
        upload = _uploads(checkpoint)[number]
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
                    _save(checkpoint, number, segments=index + 1)
        self._calls.stage(account, f"{path}/finalize")
        _save(checkpoint, number, state="processing")

    def _append(self, account: Account, path: str, index: int, body: bytes) -> None:
        """One segment, again after a break: two of the same place are one. Raises PlatformRefusal."""
        piece = MediaSource("segment", body=body, content_type="application/octet-stream")
        for breaks_left in reversed(range(_TRIES)):
            try:
                form = Multipart({"segment_index": index}, "media", piece)
                self._calls.stage(account, f"{path}/append", form)
                return
            except PlatformRefusal as refusal:
                if refusal.kind is not Refusal.TRANSIENT or not breaks_left:
                    raise
            time.sleep(self._settings.poll_seconds)

    def _wait(self, account: Account, media_id: str) -> None:
        """Until X has processed a file, as often as it says. Raises PlatformRefusal when it cannot or is not done."""
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
        """`processing_info`; empty when there is nothing left to do."""
        try:
            answer = self._calls.read(account, "media/upload", command="STATUS", media_id=media_id)
        except PlatformRefusal as refusal:
            if refusal.kind is Refusal.TRANSIENT:
                return {"state": "in_progress"}
            raise
        info: Answer = (answer.get("data") or {}).get("processing_info") or {}
        return info


def _uploads(checkpoint: Checkpoint) -> list[Upload]:
    return list(checkpoint.get("media") or ())


def _save(checkpoint: Checkpoint, number: int, **changes: Any) -> None:
    uploads = _uploads(checkpoint)
    uploads[number] = uploads[number] | changes
    checkpoint.save(media=uploads)


def _category(source: MediaSource) -> str:
    if source.type == "video":
        return "tweet_video"
    return "tweet_gif" if source.content_type == "image/gif" else "tweet_image"


def _failed(error: Answer) -> PlatformRefusal:
    message = str(error.get("message") or error.get("detail") or "X could not process the media.")
    return PlatformRefusal(Refusal.REJECTED, str(error.get("name") or error.get("code") or "failed"), message)
