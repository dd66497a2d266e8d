"""Files uploaded to X, in one call or in segments. They are processed for a while, and valid in posts for a day."""

import mmap
import tempfile
import threading
from dataclasses import dataclass, field
from typing import IO, Any

from simulator import inspection
from simulator.simulation import Simulation
from simulator.world import Medium
from simulator.x.errors import XError, forbidden, invalid

_MIB = 1 << 20
EXPIRES_SECONDS = 86_400
#: Largest size of a file by category: docs.x.com, "Media best practices" (August 2026). Largest size of a segment:
#: other clients reported in November 2026 that 1 to 2 MB worked and 5 MB failed.
LIMIT_BYTES = {"tweet_image": 5 * _MIB, "tweet_gif": 15 * _MIB, "tweet_video": 512 * _MIB}
SEGMENT_BYTES = 4 * _MIB
#: X's OpenAPI 2.167 (repository xdevplatform/xdk, July 2026), `AppendMediaUploadRequest.segment_index`.
SEGMENTS = 1_000
#: Shortest and longest video: docs.x.com, "Media best practices".
VIDEO_SECONDS = (0.5, 140.0)
#: Guesses: docs/platforms/x.md.
VIDEO_LONGEST_SIDE, VIDEO_BITS = 1_920, 25_000_000
_TYPES = {
    "tweet_image": ("image/jpeg", "image/png", "image/webp"),
    "tweet_gif": ("image/gif",),
    "tweet_video": ("video/mp4", "video/quicktime"),
}
_PHOTOS = ("JPEG", "PNG", "WEBP")
_KEY_PREFIX = {"tweet_image": "3", "tweet_gif": "16", "tweet_video": "7"}
_INVALID = {"code": 1, "name": "InvalidMedia", "message": "Unsupported video format"}


@dataclass(slots=True)
class Upload:
    """A file that is being uploaded or is complete. `ready_ticks` is the time of `Clock.ticks` at which its processing
    ends; it is None until the upload is finished.
    """

    media_id: str
    account_id: str
    category: str
    total_bytes: int
    file: IO[bytes] | None = None
    #: Index of a segment → its offset in the file and its length. A repeated segment replaces the earlier one.
    segments: dict[int, tuple[int, int]] = field(default_factory=dict)
    ready_ticks: float | None = None
    error: dict[str, Any] | None = None
    alt_text: str = ""
    expires_at: float = 0.0

    @property
    def media_key(self) -> str:
        return f"{_KEY_PREFIX[self.category]}_{self.media_id}"

    @property
    def medium(self) -> Medium:
        kind = "video" if self.category == "tweet_video" else "photo"
        return Medium(kind, self.total_bytes, medium_id=self.media_id, alt_text=self.alt_text)


class Uploads:
    """All files that were uploaded to one simulator."""

    def __init__(self, sim: Simulation) -> None:
        self._sim = sim
        self._lock = threading.Lock()
        self._rows: dict[str, Upload] = {}

    def clear(self) -> None:
        """Deletes all files."""
        with self._lock:
            for upload in self._rows.values():
                if upload.file is not None:
                    upload.file.close()
            self._rows.clear()

    def whole(self, account_id: str, category: str, data: bytes) -> Upload:
        """Stores a photo that is uploaded in one call. Raises XError if it is not an image that X accepts."""
        if category != "tweet_image":
            raise invalid("media_category", category, "Only images may be uploaded in one call.")
        _check_size(category, len(data))
        upload = self._new(account_id, category, len(data))
        try:
            picture = inspection.photo(data)
        except inspection.NotMedia as problem:
            raise invalid("media", "file", "The media you tried to upload was invalid.") from problem
        if picture.format not in _PHOTOS:
            raise invalid("media", picture.format, "media type unrecognized.")
        upload.ready_ticks = self._sim.clock.ticks()
        return upload

    def begin(self, account_id: str, media_type: str, category: str, total_bytes: int) -> Upload:
        """Begins an upload in segments (`initialize`). Raises XError if X does not accept the type, the category or
        the size.
        """
        # The category is optional; it is then derived from the type.
        category = category or next((name for name, types in _TYPES.items() if media_type in types), "")
        if media_type not in _TYPES.get(category, ()):
            raise invalid("media_type", media_type, f"media type does not match the category {category}.")
        _check_size(category, total_bytes)
        upload = self._new(account_id, category, total_bytes)
        upload.file = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the upload
        return upload

    def append(self, upload: Upload, index: int, data: bytes) -> None:
        """Stores one segment (`append`). Raises XError if the upload is finished, or if the segment's index or size is
        not allowed.
        """
        if upload.file is None:
            raise invalid("id", upload.media_id, "The upload is complete already.")
        if not 0 <= index < SEGMENTS:
            raise invalid("segment_index", index, f"must be between 0 and {SEGMENTS - 1}.")
        if len(data) > SEGMENT_BYTES:
            raise XError(413, "Payload Too Large", "The segment is too large.")
        with self._lock:
            offset = upload.file.seek(0, 2)
            upload.file.write(data)
            upload.segments[index] = (offset, len(data))

    def finish(self, upload: Upload) -> None:
        """Finishes an upload (`finalize`) and checks its file. Raises XError if it is finished already, if segments
        are missing, or if a photo is invalid. If a GIF or a video is invalid, `processing` reports that later.
        """
        if upload.file is None:
            raise invalid("id", upload.media_id, "The upload is complete already.")
        lengths = [length for _, length in upload.segments.values()]
        if sorted(upload.segments) != list(range(len(lengths))) or sum(lengths) != upload.total_bytes:
            raise invalid("id", upload.media_id, "Segments do not add up to provided total file size.")
        try:
            _inspect(upload)
        except (inspection.NotMedia, ValueError):
            upload.error = _INVALID
        upload.file.close()
        upload.file = None
        if upload.category == "tweet_image":
            if upload.error:
                raise invalid("media", "file", "The media you tried to upload was invalid.")
            seconds = 0.0
        elif upload.category == "tweet_video":
            seconds = self._sim.film_seconds("TW")
        else:
            seconds = self._sim.settings.processing_seconds
        upload.ready_ticks = self._sim.clock.ticks() + seconds

    def find(self, account_id: str, media_id: str) -> Upload:
        """Returns the account's upload with this id. Raises XError 400 if there is none or it has expired."""
        upload = self._rows.get(media_id)
        if upload is None or upload.account_id != account_id or upload.expires_at < self._now():
            raise invalid("media_id", media_id, "Your media IDs are invalid.")
        return upload

    def usable(self, account_id: str, media_ids: list[str]) -> list[Upload]:
        """Returns the files with these ids, for a new post. Raises XError if one is unknown, expired or not processed,
        or if a post may not contain them together.
        """
        found = [self.find(account_id, media_id) for media_id in media_ids]
        for upload in found:
            if self.processing(upload)["state"] != "succeeded":
                raise invalid("media.media_ids", upload.media_id, "Your media IDs are invalid.")
        if len(found) > 4 or (len(found) > 1 and any(one.category != "tweet_image" for one in found)):
            raise forbidden("You can include up to 4 photos, 1 animated GIF or 1 video in a Tweet.")
        return found

    def processing(self, upload: Upload) -> dict[str, Any]:
        """Returns `processing_info`: the state of the file at this moment."""
        if upload.ready_ticks is None:
            return {"state": "uploading"}
        left = upload.ready_ticks - self._sim.clock.ticks()
        if left > 0:
            half = left > self._sim.settings.processing_seconds / 2
            return {
                "state": "pending" if half else "in_progress",
                "check_after_secs": 1,
                "progress_percent": 50,
            }
        if upload.error:
            return {"state": "failed", "progress_percent": 0, "error": upload.error}
        return {"state": "succeeded", "progress_percent": 100}

    def _new(self, account_id: str, category: str, total_bytes: int) -> Upload:
        upload = Upload(self._sim.world.new_id("18"), account_id, category, total_bytes)
        upload.expires_at = self._now() + EXPIRES_SECONDS
        with self._lock:
            self._rows[upload.media_id] = upload
        return upload

    def _now(self) -> float:
        return self._sim.clock.now().timestamp()


def _check_size(category: str, size_bytes: int) -> None:
    limit = LIMIT_BYTES.get(category)
    if limit is None:
        raise invalid("media_category", category, f"must be one of {', '.join(LIMIT_BYTES)}.")
    if not 0 < size_bytes <= limit:
        raise invalid("total_bytes", size_bytes, f"File size exceeds {limit} bytes.")


def _inspect(upload: Upload) -> None:
    """Checks the format and length of an uploaded file. Raises NotMedia if X does not accept it, ValueError if it is
    empty.
    """
    assert upload.file is not None
    with tempfile.TemporaryFile() as ordered:
        for _, (offset, length) in sorted(upload.segments.items()):
            upload.file.seek(offset)
            ordered.write(upload.file.read(length))
        ordered.flush()
        with mmap.mmap(ordered.fileno(), 0, access=mmap.ACCESS_READ) as data:
            if upload.category != "tweet_video":
                formats = ("GIF",) if upload.category == "tweet_gif" else _PHOTOS
                if inspection.photo(data[:]).format not in formats:
                    raise inspection.NotMedia("another format")
            else:
                _check_video(inspection.video(data))  # type: ignore[arg-type]


def _check_video(video: inspection.Video) -> None:
    if not VIDEO_SECONDS[0] <= video.seconds <= VIDEO_SECONDS[1]:
        raise inspection.NotMedia("too short or too long")
    if video.codec not in ("h264", ""):
        raise inspection.NotMedia("another codec")
    if max(video.width, video.height) > VIDEO_LONGEST_SIDE or video.bytes * 8 > VIDEO_BITS * video.seconds:
        raise inspection.NotMedia("too large")
