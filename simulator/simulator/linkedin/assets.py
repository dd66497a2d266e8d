"""Photos and films uploaded to LinkedIn: their upload URLs, parts and state.

Sources of the limits: LinkedIn's Images API ("36,152,320 pixels", JPG, GIF, PNG) and Videos API (MP4, 75 KB to 500 MB,
3 s to 30 min, parts of 4 MB) at learn.microsoft.com/linkedin/marketing/community-management/shares, as public clients
and Ayrshare's media guide quote them (read in November 2026; only the first third of LinkedIn's pages was available).
The API names no limit for the bytes of a photo; 8 MB is a guess.
"""

import hashlib
import mmap
import tempfile
import threading
from dataclasses import dataclass, field
from typing import IO, Any

from simulator import inspection
from simulator.linkedin.errors import LinkedInError, denied, invalid, not_found, waiting
from simulator.simulation import Simulation
from simulator.world import Medium

_MIB = 1 << 20
PART_BYTES = 4 * _MIB
PHOTO_BYTES = 8 * _MIB
#: Images API: a photo "must have less than" this.
PHOTO_PIXELS = 36_152_320
VIDEO_BYTES = (75 << 10, 500 * _MIB)
VIDEO_SECONDS = (3.0, 30 * 60.0)
ADDRESS_SECONDS = 3_600


@dataclass(slots=True)
class Asset:
    """A file that is being uploaded or is complete. `ready_ticks` is the time of `Clock.ticks` at which its processing
    ends; it is None until all bytes are there. `total_bytes` of a photo is 0 until then.
    """

    urn: str
    owner: str
    kind: str
    total_bytes: int = 0
    token: str = ""
    file: IO[bytes] | None = None
    #: Number of a part → its ETag.
    etags: dict[int, str] = field(default_factory=dict)
    ready_ticks: float | None = None
    failure: str = ""
    expires_at: float = 0.0

    @property
    def parts(self) -> list[tuple[int, int]]:
        """The parts in which the file must be uploaded: the first and the last byte of each."""
        if self.kind == "image":
            return [(0, PHOTO_BYTES - 1)]
        starts = range(0, self.total_bytes, PART_BYTES)
        return [(start, min(start + PART_BYTES, self.total_bytes) - 1) for start in starts]

    def medium(self, alt_text: str) -> Medium:
        kind = "video" if self.kind == "video" else "photo"
        return Medium(kind, self.total_bytes, medium_id=self.urn, alt_text=alt_text)


class Assets:
    """All files that were uploaded to one simulator."""

    def __init__(self, sim: Simulation) -> None:
        self._sim = sim
        self._lock = threading.Lock()
        self._rows: dict[str, Asset] = {}

    def clear(self) -> None:
        """Deletes all files."""
        with self._lock:
            for asset in self._rows.values():
                if asset.file is not None:
                    asset.file.close()
            self._rows.clear()

    def begin(self, kind: str, owner: str, total_bytes: int) -> Asset:
        """Begins an upload (`initializeUpload`). `kind` is image or video. Raises LinkedInError 400 for a video that
        is too small or too large.
        """
        if kind == "video" and not VIDEO_BYTES[0] <= total_bytes <= VIDEO_BYTES[1]:
            raise invalid(
                "initializeUploadRequest/fileSizeBytes", f"must be within {VIDEO_BYTES}, is {total_bytes}"
            )
        number = self._sim.world.new_id("C4")
        asset = Asset(f"urn:li:{kind}:{number}", owner, kind, total_bytes)
        asset.token = f"token-{number}" if len(asset.parts) > 1 else ""
        asset.file = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the upload
        asset.expires_at = self._sim.clock.now().timestamp() + ADDRESS_SECONDS
        with self._lock:
            self._rows[asset.urn] = asset
        return asset

    def find(self, urn: str) -> Asset:
        """Returns the file with this URN. Raises LinkedInError 404 if there is none."""
        asset = self._rows.get(urn)
        if asset is None:
            raise not_found(urn)
        return asset

    def take(self, asset: Asset, number: int, data: bytes) -> str:
        """Stores one part of a film, or a whole photo, and returns the part's ETag. Raises LinkedInError if the upload
        URL has expired, or if the part has a wrong size.
        """
        if asset.file is None or self._sim.clock.now().timestamp() > asset.expires_at:
            raise LinkedInError(400, "EXPIRED_UPLOAD_URL", "The upload URL is expired")
        if not 0 <= number < len(asset.parts):
            raise not_found(f"part {number}")
        first, last = asset.parts[number]
        if asset.kind == "video" and len(data) != last - first + 1:
            raise invalid("part", f"bytes {first} to {last} are asked for, these are {len(data)}")
        if len(data) > last - first + 1 or not data:
            raise invalid("image", f"File size {len(data)} is not allowed")
        with self._lock:
            asset.file.seek(first)
            asset.file.write(data)
        asset.etags[number] = hashlib.md5(data, usedforsecurity=False).hexdigest()
        if asset.kind == "image":
            asset.total_bytes = len(data)
            self._complete(asset)
        return asset.etags[number]

    def finish(self, asset: Asset, token: str, part_ids: list[str]) -> None:
        """Finishes the upload of a film (`finalizeUpload`). `part_ids` are the ETags of all parts. Raises
        LinkedInError 400 if they do not match the stored parts, or if the upload is finished already.
        """
        if asset.file is None:
            raise LinkedInError(400, "INVALID_VIDEO_STATUS", "The video is finalized already")
        if not asset.etags:
            raise waiting()
        expected = [asset.etags.get(number) for number in range(len(asset.parts))]
        if token != asset.token or part_ids != expected:
            raise invalid("finalizeUploadRequest/uploadedPartIds", "does not match the uploaded parts")
        self._complete(asset)

    def state(self, asset: Asset) -> dict[str, Any]:
        """Returns the body with which LinkedIn answers a GET of the file."""
        shown = {"id": asset.urn, "owner": asset.owner, "status": self.status(asset)}
        if shown["status"] == "PROCESSING_FAILED":
            shown["processingFailureReason"] = asset.failure
        return shown

    def status(self, asset: Asset) -> str:
        if asset.ready_ticks is None:
            return "WAITING_UPLOAD"
        if self._sim.clock.ticks() < asset.ready_ticks:
            return "PROCESSING"
        return "PROCESSING_FAILED" if asset.failure else "AVAILABLE"

    def usable(self, owner: str, urn: str) -> Asset:
        """Returns the file with this URN, for a new post of `owner`. Raises LinkedInError if it belongs to somebody
        else, or is not processed yet, or its processing failed.
        """
        asset = self.find(urn)
        if asset.owner != owner:
            raise denied(urn)
        status = self.status(asset)
        if status == "PROCESSING_FAILED":
            raise LinkedInError(400, "MEDIA_ASSET_PROCESSING_FAILED", "Media asset failed processing")
        if status != "AVAILABLE":
            raise waiting()
        return asset

    def _complete(self, asset: Asset) -> None:
        assert asset.file is not None
        asset.file.flush()
        try:
            with mmap.mmap(asset.file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                asset.failure = _failure_of(asset.kind, data)
        except inspection.NotMedia:
            asset.failure = "The file cannot be read"
        asset.file.close()
        asset.file = None
        is_film = asset.kind == "video"
        seconds = self._sim.film_seconds("LN") if is_film else self._sim.settings.processing_seconds
        asset.ready_ticks = self._sim.clock.ticks() + seconds


def _failure_of(kind: str, data: Any) -> str:
    """Returns why LinkedIn refuses the file, or an empty text if it accepts the file. `kind` is image or video. Raises
    NotMedia if the file is of another kind.
    """
    if kind == "video":
        video = inspection.video(data)
        if video.codec not in ("h264", ""):
            return f"Unsupported video codec {video.codec}"
        fits = VIDEO_SECONDS[0] <= video.seconds <= VIDEO_SECONDS[1]
        return "" if fits else f"A video of {video.seconds} s"
    photo = inspection.photo(data[:])
    if photo.format not in ("JPEG", "PNG", "GIF"):
        return f"Unsupported image format {photo.format}"
    return "" if photo.width * photo.height < PHOTO_PIXELS else "The image has too many pixels"
