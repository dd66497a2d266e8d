"""Files on their way into LinkedIn: photos in one piece, films in the parts it asks for, which a retry goes on with."""

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
from publishing.platforms.linkedin.calls import Answer, Calls, in_path
from publishing.platforms.linkedin.errors import LAPSED
from publishing.platforms.linkedin.settings import LinkedInSettings
from publishing.platforms.pieces import Piece, Pieces
from publishing.platforms.sources import check_bytes
from publishing.platforms.wire import poll, transient

#: How far an upload has come: `urn`, `state` (sending, processing, ready), `until` in seconds since 1970; of a film
#: also `token`, `parts` [[address, length]] and `etags` of those that are there.
Upload = dict[str, Any]

#: Parts (of 4 MB) between two checkpoints: what a retry sends again at most. Our choice.
_PARTS_PER_SAVE = 4
#: An upload whose addresses end so soon is not gone on with. Our choice.
_SPARE_SECONDS = 300.0
#: How long an upload is gone on with where LinkedIn does not say. Our choice: careful.
_KEPT_SECONDS = 3_600.0
#: How long a file that is there is taken for still there. Our choice.
_HELD_SECONDS = 86_400.0


class Uploads:
    """Checkpoint value `media`: one `Upload` for each file, in their order."""

    def __init__(self, calls: Calls, settings: LinkedInSettings) -> None:
        self._calls = calls
        self._settings = settings

    def ready_urns(self, account: Account, content: Content, checkpoint: Checkpoint) -> list[str]:
        """URNs that a post can carry; goes on where the last attempt stopped. Raises PlatformRefusal."""
        for number, source in enumerate(content.media):
            check_bytes(source)
            known = uploads_of(checkpoint)[number:]
            if known and known[0]["until"] - time.time() > _SPARE_SECONDS:
                try:
                    self._bring(account, source, checkpoint, number)
                    continue
                except PlatformRefusal as refusal:
                    # The addresses or the file are no good any more, or never were: a fresh upload tells which.
                    if refusal.kind is not Refusal.REJECTED and refusal.code not in LAPSED:
                        raise
            self._begin(account, source, checkpoint, number)
            self._bring(account, source, checkpoint, number)
        for number in range(len(content.media)):
            self._await(account, checkpoint, number)
        return [str(upload["urn"]) for upload in uploads_of(checkpoint)]

    def _begin(self, account: Account, source: MediaSource, checkpoint: Checkpoint, number: int) -> None:
        owner = account.remote_account_id
        if source.type == "video":
            value = self._calls.act(
                account,
                "videos",
                "initializeUpload",
                owner=owner,
                fileSizeBytes=source.length_bytes,
                uploadCaptions=False,
                uploadThumbnail=False,
            )
            upload = _film(value, source.length_bytes)
        else:
            value = self._calls.act(account, "images", "initializeUpload", owner=owner)
            upload = {"urn": value.get("image"), "parts": [[value.get("uploadUrl"), source.length_bytes]]}
            upload["until"] = _end(value.get("uploadUrlExpiresAt"))
        if not upload["urn"]:
            raise transient("NO_ID", "The platform's answer names no id.")
        upload |= {"state": "sending", "etags": []}
        checkpoint.save(media=[*uploads_of(checkpoint)[:number], upload])

    def _bring(self, account: Account, source: MediaSource, checkpoint: Checkpoint, number: int) -> None:
        """Every byte there; what LinkedIn makes of them comes later."""
        upload = uploads_of(checkpoint)[number]
        if upload["state"] != "sending":
            return
        is_film, etags = source.type == "video", list(upload["etags"])
        with source.open() as chunks:
            pieces = Pieces(chunks)
            pieces.skip(sum(length for _, length in upload["parts"][: len(etags)]))
            for url, length in upload["parts"][len(etags) :]:
                kind = "application/octet-stream" if is_film else source.content_type
                piece = Piece(pieces, length, kind or "application/octet-stream")
                etags.append(self._calls.put(account, url, piece, with_token=not is_film))
                if len(etags) % _PARTS_PER_SAVE == 0:
                    _save(checkpoint, number, etags=list(etags))
        if is_film:
            self._calls.act(
                account,
                "videos",
                "finalizeUpload",
                video=upload["urn"],
                uploadToken=upload["token"],
                uploadedPartIds=etags,
            )
        until = time.time() + _HELD_SECONDS
        _save(checkpoint, number, state="processing", until=until, etags=[], parts=[], token=None)

    def _await(self, account: Account, checkpoint: Checkpoint, number: int) -> None:
        """Until LinkedIn has processed a file. Raises PlatformRefusal when it cannot or is not done."""
        upload = uploads_of(checkpoint)[number]
        if upload["state"] == "ready":
            return
        kind = "videos" if upload["urn"].startswith("urn:li:video:") else "images"
        end = poll(self._settings, lambda: self._end(account, f"{kind}/{in_path(upload['urn'])}"))
        if end is None:
            raise transient("NOT_READY", "LinkedIn is still processing the media.")
        if end.get("status") == "PROCESSING_FAILED":
            checkpoint.save(media=uploads_of(checkpoint)[:number] or None)
            reason = end.get("processingFailureReason") or "LinkedIn could not process the media."
            raise PlatformRefusal(Refusal.REJECTED, "PROCESSING_FAILED", str(reason))
        _save(checkpoint, number, state="ready")

    def _end(self, account: Account, path: str) -> Answer | None:
        """What became of a file; None while LinkedIn is at work, or cannot be asked just now."""
        try:
            file = self._calls.read(account, path)
        except PlatformRefusal as refusal:
            if refusal.kind is Refusal.TRANSIENT:
                return None
            if refusal.kind is Refusal.PERMISSION:
                # A member's own token may not look (platforms.md 4): posting tells, and is tried again.
                return {}
            raise
        return file if file.get("status") in ("AVAILABLE", "PROCESSING_FAILED") else None


def uploads_of(checkpoint: Checkpoint) -> list[Upload]:
    return list(checkpoint.get("media") or ())


def _film(value: Answer, size_bytes: int) -> Upload:
    """The upload of a film, its parts in order. Raises PlatformRefusal when they are not the whole file."""
    rows = sorted(value.get("uploadInstructions") or (), key=lambda row: int(row["firstByte"]))
    parts = [[row["uploadUrl"], int(row["lastByte"]) - int(row["firstByte"]) + 1] for row in rows]
    if sum(length for _, length in parts) != size_bytes:
        raise transient("STRANGE_PARTS", "LinkedIn asks for other parts than the file has.")
    # An empty token is a token: LinkedIn gives one for films of one part.
    return {
        "urn": value.get("video"),
        "token": str(value.get("uploadToken") or ""),
        "parts": parts,
        "until": _end(value.get("uploadUrlsExpireAt")),
    }


def _end(milliseconds: Any) -> float:
    return milliseconds / 1000 if isinstance(milliseconds, int) else time.time() + _KEPT_SECONDS


def _save(checkpoint: Checkpoint, number: int, **changes: Any) -> None:
    uploads = uploads_of(checkpoint)
    uploads[number] = uploads[number] | changes
    checkpoint.save(media=uploads)
