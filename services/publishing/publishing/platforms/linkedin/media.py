"""Uploads files to LinkedIn: photos in one piece, videos in the parts that LinkedIn asks for. A later attempt resumes
them."""

import time
from typing import Any

from publishing.platforms.base import Account, Checkpoint, Content, MediaSource, PlatformRefusal, Refusal
from publishing.platforms.http_client import Answer, poll, required, transient
from publishing.platforms.linkedin.calls import Calls, in_path
from publishing.platforms.linkedin.errors import LAPSED
from publishing.platforms.linkedin.reading import ORGANIZATION
from publishing.platforms.linkedin.settings import LinkedInSettings
from publishing.platforms.uploads.pieces import Piece, Pieces
from publishing.platforms.uploads.staged_files import (
    KEPT_SECONDS,
    StagedFiles,
    Upload,
    save_upload,
    uploads_in,
)

#: Parts (of 4 MB) between two checkpoints: a retry repeats at most 16 MB. Our choice.
_PARTS_PER_SAVE = 4
#: How long a complete upload is assumed to exist: as long as a post may be late. LinkedIn names no time.
_HELD_SECONDS = 86_400.0


#: Refused look-ups of a company page's file after which the post is sent nevertheless: some 8 s. LinkedIn refuses the
#: post if the file is not ready.
_REFUSED_LOOKS = 5


class Uploads(StagedFiles):
    """The uploads of a post's files to LinkedIn.

    Values of an `Upload`: `urn`, `state` (sending, processing, ready), `until` (until when it can be resumed, seconds
    since 1970), `parts` [[address, length in bytes]] and `etags` of the parts that were sent. A video has a `token` as
    well.
    """

    def __init__(self, calls: Calls, settings: LinkedInSettings) -> None:
        self._calls = calls
        self._settings = settings

    def stage(self, account: Account, content: Content, checkpoint: Checkpoint) -> list[Upload]:
        super().stage(account, content, checkpoint)
        for number in range(len(content.media)):
            self._wait(account, checkpoint, number)
        return uploads_in(checkpoint)

    def begin(self, account: Account, source: MediaSource) -> Upload:
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
            upload = _video_upload(value, source.length_bytes)
        else:
            value = self._calls.act(account, "images", "initializeUpload", owner=owner)
            upload = {
                "urn": required(value, "image"),
                "parts": [[value.get("uploadUrl"), source.length_bytes]],
                "until": _end(value.get("uploadUrlExpiresAt")),
            }
        return upload | {"state": "sending", "etags": []}

    def finish(self, account: Account, source: MediaSource, checkpoint: Checkpoint, number: int) -> None:
        upload = uploads_in(checkpoint)[number]
        if upload["state"] != "sending":
            return
        is_video, etags = source.type == "video", list(upload["etags"])
        with source.open() as chunks:
            pieces = Pieces(chunks)
            pieces.skip(sum(length for _, length in upload["parts"][: len(etags)]))
            for url, length in upload["parts"][len(etags) :]:
                kind = "application/octet-stream" if is_video else source.content_type
                piece = Piece(pieces, length, kind or "application/octet-stream")
                etags.append(self._calls.put(account, url, piece, with_token=not is_video))
                if len(etags) % _PARTS_PER_SAVE == 0:
                    save_upload(checkpoint, number, etags=list(etags))
        if is_video:
            self._calls.act(
                account,
                "videos",
                "finalizeUpload",
                video=upload["urn"],
                uploadToken=upload["token"],
                uploadedPartIds=etags,
            )
        until = time.time() + _HELD_SECONDS
        save_upload(checkpoint, number, state="processing", until=until, etags=[], parts=[], token=None)

    def may_be_stale(self, refusal: PlatformRefusal, upload: Upload) -> bool:
        return refusal.kind is Refusal.REJECTED or refusal.code in LAPSED

    def _wait(self, account: Account, checkpoint: Checkpoint, number: int) -> None:
        """Waits until LinkedIn has processed a file. Raises PlatformRefusal if it failed or is not done in time."""
        upload = uploads_in(checkpoint)[number]
        if upload["state"] == "ready":
            return
        kind = "videos" if upload["urn"].startswith("urn:li:video:") else "images"
        refused: list[PlatformRefusal] = []
        end = poll(self._settings, lambda: self._end(account, f"{kind}/{in_path(upload['urn'])}", refused))
        if end is None:
            raise transient("NOT_READY", "LinkedIn is still processing the media.")
        if end.get("status") == "PROCESSING_FAILED":
            checkpoint.save(media=uploads_in(checkpoint)[:number] or None)
            reason = end.get("processingFailureReason") or "LinkedIn could not process the media."
            raise PlatformRefusal(Refusal.REJECTED, "PROCESSING_FAILED", str(reason))
        save_upload(checkpoint, number, state="ready")

    def _end(self, account: Account, path: str, refused: list[PlatformRefusal]) -> Answer | None:
        """Returns a file that LinkedIn has processed, also if processing failed. Returns None while LinkedIn is
        processing the file, or cannot be asked.

        If LinkedIn does not let us read the file, appends the refusal to `refused` and returns {}. But a company page's
        file cannot be read before it is ready. For such a file, returns None until it was refused `_REFUSED_LOOKS`
        times.
        """
        try:
            file = self._calls.read(account, path)
        except PlatformRefusal as refusal:
            if refusal.kind is Refusal.TRANSIENT:
                return None
            if refusal.kind is not Refusal.PERMISSION:
                raise
            # A member's token may never read it (platforms.md 4); a company page's is refused until the file is ready.
            # For both LinkedIn refuses the post until then, and that call is repeated.
            refused.append(refusal)
            is_page = account.remote_account_id.startswith(ORGANIZATION)
            return None if is_page and len(refused) < _REFUSED_LOOKS else {}
        return file if file.get("status") in ("AVAILABLE", "PROCESSING_FAILED") else None


def _video_upload(value: Answer, size_bytes: int) -> Upload:
    """Returns the upload of a video, with its parts in order. Raises PlatformRefusal if they do not cover the whole
    file."""
    rows = sorted(value.get("uploadInstructions") or (), key=lambda row: int(row["firstByte"]))
    parts = [[row["uploadUrl"], int(row["lastByte"]) - int(row["firstByte"]) + 1] for row in rows]
    if sum(length for _, length in parts) != size_bytes:
        raise transient("STRANGE_PARTS", "LinkedIn asks for other parts than the file has.")
    return {
        "urn": required(value, "video"),
        # It is empty for a video of one part.
        "token": str(value.get("uploadToken") or ""),
        "parts": parts,
        "until": _end(value.get("uploadUrlsExpireAt")),
    }


def _end(milliseconds: Any) -> float:
    return milliseconds / 1000 if isinstance(milliseconds, int) else time.time() + KEPT_SECONDS
