"""Posts that TikTok is still processing. Handles the init call, the chunks of a video, the fetching of photos, and the
state of a post.

Limits of developers.tiktok.com/doc, pages as fetched on 11 September 2026: chunks, sizes, formats and lengths in
content-posting-api-media-transfer-guide; texts and enums in content-posting-api-reference-direct-post and …-photo-post.
"""

import mmap
import re
import secrets
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import IO, Any

from simulator import inspection
from simulator.accounts import Account
from simulator.faults import Planned
from simulator.fetching import FetchFailed, FetchTooBig
from simulator.inspection import NotMedia
from simulator.simulation import Simulation
from simulator.tiktok.errors import TikTokError, UploadRefused, invalid
from simulator.world import Medium, Post

#: Limits of a chunk: "At least 5 MB but no greater than 64 MB, except for the final chunk … (up to 128 MB)". The lower
#: limit takes MB as 2^20 bytes, the upper ones as 10^6: a chunk within them is valid for either meaning.
CHUNK_BYTES = (5 * 2**20, 64_000_000)
LAST_CHUNK_BYTES = 128_000_000
CHUNKS = 1_000
VIDEO_BYTES = 4 * 10**9
UPLOAD_SECONDS = 3_600
CAPTION_UNITS, PHOTO_TITLE_UNITS, DESCRIPTION_UNITS = 2_200, 90, 4_000
PHOTOS, PHOTO_BYTES, PHOTO_FORMATS = 35, 20 * 2**20, ("JPEG", "WEBP")
#: Longest shorter side in pixels: "Maximum 1080p" of TikTok's guide, as TikTok applied it to our posts
#: (docs/platforms/tiktok.md).
PHOTO_SHORTER_SIDE = 1_080
PRIVACIES = ("PUBLIC_TO_EVERYONE", "MUTUAL_FOLLOW_FRIENDS", "SELF_ONLY")
_READ_BYTES = 256 * 1024
_WEBM = b"\x1a\x45\xdf\xa3"
_SPAN = re.compile(r"bytes (\d+)-(\d+)/(\d+)")


class PictureTooLarge(Exception):
    """Raised when the shorter side of a photo has more pixels than TikTok accepts."""


@dataclass(slots=True)
class Publication:
    """A post that an init call has begun, with its publish id, its upload and its state. Times are those of
    `Clock.ticks`.
    """

    publish_id: str
    post: Post
    #: For a video: the token of its upload URL, its sizes, and the received chunks.
    upload_token: str = ""
    size_bytes: int = 0
    chunk_bytes: int = 0
    chunk_count: int = 0
    chunks_received: int = 0
    began_ticks: float = 0.0
    file: IO[bytes] | None = None
    #: For photos: the photos, which are fetched in the background.
    photos: "Future[list[Medium]] | None" = None
    ready_ticks: float | None = None
    failure: str | None = None
    #: A `publish` fault that will affect the last chunk. A refusal already affected the init call.
    pending_fault: Planned | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)
    kind = "Publication"
    platform = "TT"

    @property
    def account_id(self) -> str:
        return self.post.account_id


def check_post(sim: Simulation, body: Any, *, is_video: bool) -> dict[str, Any]:
    """Returns the checked `post_info` of an init call. Raises TikTokError if it is invalid or the app may not post
    like this.
    """
    info = body.get("post_info")
    if not isinstance(info, dict):
        raise invalid("post_info is missing")
    title, description = info.get("title", ""), info.get("description", "")
    limit = CAPTION_UNITS if is_video else PHOTO_TITLE_UNITS
    if not isinstance(title, str) or _units(title) > limit:
        raise invalid("title is too long")
    if not isinstance(description, str) or _units(description) > DESCRIPTION_UNITS:
        raise invalid("description is too long")
    if info.get("privacy_level") is None:
        raise invalid("privacy_level is required")
    if info["privacy_level"] not in PRIVACIES:
        message = "The privacy level is not among the creator's privacy_level_options."
        raise TikTokError("privacy_level_option_mismatch", message)
    if not sim.settings.tiktok_audited and info["privacy_level"] != "SELF_ONLY":
        message = "Unaudited clients can only post to private accounts."
        raise TikTokError("unaudited_client_can_only_post_to_private_accounts", message)
    return info


def begin_video(sim: Simulation, account: Account, info: dict[str, Any], source: Any) -> Publication:
    """Answers the init call of a video: begins its upload. `source` is the call's `source_info`. Raises TikTokError if
    it is invalid.
    """
    if not isinstance(source, dict) or source.get("source") != "FILE_UPLOAD":
        raise invalid("source_info.source has to be FILE_UPLOAD here")
    size, chunk, count = (source.get(name, 0) for name in ("video_size", "chunk_size", "total_chunk_count"))
    if not all(isinstance(number, int) and number > 0 for number in (size, chunk, count)):
        raise invalid("video_size, chunk_size and total_chunk_count are required")
    if size > VIDEO_BYTES:
        raise invalid("The video is too big")
    if size < CHUNK_BYTES[0] and chunk != size:
        raise invalid("A video under 5 MB has to be uploaded as a whole")
    if (chunk != size and not CHUNK_BYTES[0] <= chunk <= CHUNK_BYTES[1]) or chunk > CHUNK_BYTES[1]:
        raise invalid("The chunk size is invalid")
    if count != size // chunk or count > CHUNKS or size - (count - 1) * chunk > LAST_CHUNK_BYTES:
        raise invalid("The total chunk count is invalid")
    made = _publication(sim, account, info, "v_pub_file~v2-1.", info.get("title", ""))
    made.upload_token, made.began_ticks = secrets.token_urlsafe(16), sim.clock.ticks()
    made.size_bytes, made.chunk_bytes, made.chunk_count = size, chunk, count
    made.file = tempfile.TemporaryFile()  # noqa: SIM115
    return made


def close(uploads: list[Publication]) -> None:
    """Closes the files of unfinished uploads and empties the list."""
    for made in uploads:
        if made.file is not None:
            made.file.close()
    uploads.clear()


def take_chunk(sim: Simulation, made: Publication, span: str, read: Callable[[int], bytes]) -> int:
    """Stores a chunk, and begins to process the video after the last one. `span` is the header Content-Range, `read`
    reads the request's body. Returns the number of bytes received so far. Raises UploadRefused if the chunk is not the
    next one.
    """
    found = _SPAN.fullmatch(span)
    if found is None or made.file is None:
        raise UploadRefused(400 if found is None else 403)
    first, end, total = int(found[1]), int(found[2]) + 1, int(found[3])
    number = made.chunks_received
    is_last = number == made.chunk_count - 1
    wanted_end = made.size_bytes if is_last else (number + 1) * made.chunk_bytes
    if total != made.size_bytes:
        raise UploadRefused(400)
    if number >= made.chunk_count or (first, end) != (number * made.chunk_bytes, wanted_end):
        raise UploadRefused(416)
    made.file.seek(first)
    left = end - first
    while left > 0:
        data = read(min(_READ_BYTES, left))
        if not data:
            raise UploadRefused(400)
        made.file.write(data)
        left -= len(data)
    made.chunks_received += 1
    if is_last:
        _finish_video(sim, made)
    return end


def is_last_chunk(made: Publication, span: str) -> bool:
    """Whether the chunk with this Content-Range ends the file."""
    found = _SPAN.fullmatch(span)
    return found is not None and int(found[2]) + 1 == made.size_bytes


def begin_photos(sim: Simulation, account: Account, info: dict[str, Any], source: Any) -> Publication:
    """Begins to fetch the photos of a post from their URLs. `source` is the call's `source_info`. Raises TikTokError
    if it is invalid.
    """
    urls = source.get("photo_images") if isinstance(source, dict) else None
    if not isinstance(urls, list) or not 1 <= len(urls) <= PHOTOS or source.get("source") != "PULL_FROM_URL":
        raise invalid("source_info needs PULL_FROM_URL and 1 to 35 photo_images")
    if source.get("photo_cover_index", 0) not in range(len(urls)):
        raise invalid("photo_cover_index is out of range")
    hosts = sim.settings.tiktok_verified_hosts
    if hosts and not all(str(url).split("/")[2:3] in [[host] for host in hosts] for url in urls):
        raise TikTokError("url_ownership_unverified", "Please review our URL ownership verification rules.")
    made = _publication(sim, account, info, "p_pub_url~v2.", info.get("description", ""))
    made.post.settings["photo_cover_index"] = source.get("photo_cover_index", 0)
    made.ready_ticks = sim.clock.ticks() + sim.settings.processing_seconds
    made.photos = sim.fetcher.later(lambda: [_photo(sim, url) for url in urls])
    made.photos.add_done_callback(lambda photos: _finish_photos(sim, made, photos))
    return made


def fail(sim: Simulation, made: Publication, reason: str) -> None:
    """Marks the post as failed and removes it."""
    made.failure = reason
    sim.world.remove_post(made.post.post_id)


def status_of(sim: Simulation, made: Publication) -> dict[str, Any]:
    """Returns the state of a post, as TikTok answers status/fetch. The answer contains the post's id as soon as the
    post is public.
    """
    ticks, is_video = sim.clock.ticks(), made.upload_token != ""
    shown: dict[str, Any] = {"publicaly_available_post_id": [], "fail_reason": made.failure or ""}
    if made.failure:
        return shown | {"status": "FAILED"}
    is_fetched = made.photos is None or made.photos.done()
    if made.ready_ticks is None or ticks < made.ready_ticks or not is_fetched:
        key = "uploaded_bytes" if is_video else "downloaded_bytes"
        so_far = min(made.chunks_received * made.chunk_bytes, made.size_bytes)
        return shown | {"status": "PROCESSING_UPLOAD" if is_video else "PROCESSING_DOWNLOAD", key: so_far}
    if is_public(sim, made):
        shown["publicaly_available_post_id"] = [int(made.post.post_id)]
    return shown | {"status": "PUBLISH_COMPLETE"}


def is_public(sim: Simulation, made: Publication) -> bool:
    """Whether the post has passed moderation and everybody may see it."""
    is_open = made.post.settings["privacy_level"] == "PUBLIC_TO_EVERYONE"
    looked_over = made.ready_ticks is not None and (
        sim.clock.ticks() >= made.ready_ticks + sim.settings.processing_seconds
    )
    return is_open and looked_over and made.failure is None


def _publication(
    sim: Simulation, account: Account, info: dict[str, Any], prefix: str, text: str
) -> Publication:
    post_id, publish_id = sim.world.new_id("741"), sim.world.new_id(prefix)
    settings = {**info, "publish_id": publish_id}
    post = Post(post_id, account.account_id, "TT", account.name, text, [], sim.clock.now(), settings=settings)
    made = Publication(publish_id, post)
    sim.world.staged[publish_id] = made
    return made


def _finish_video(sim: Simulation, made: Publication) -> None:
    assert made.file is not None
    made.ready_ticks = sim.clock.ticks() + sim.film_seconds("TT")
    made.post.created_at = sim.clock.now()
    made.post.media = [Medium("video", made.size_bytes)]
    problem = _problem_of_film(made.file, made.size_bytes, sim.settings.tiktok_video_seconds)
    made.file.close()
    made.file = None
    if problem:
        made.failure = problem
    else:
        sim.world.add_post(made.post)


def _problem_of_film(file: IO[bytes], size_bytes: int, longest_seconds: float) -> str | None:
    """Returns TikTok's `fail_reason` for a file; None if the file is accepted. The length of a WebM file is not
    checked.
    """
    file.flush()
    with mmap.mmap(file.fileno(), size_bytes, access=mmap.ACCESS_READ) as data:
        if data[:4] == _WEBM:
            return None
        try:
            seconds = inspection.video(data).seconds  # type: ignore[arg-type]
        except NotMedia:
            return "file_format_check_failed"
        return "duration_check_failed" if seconds > longest_seconds else None


def _finish_photos(sim: Simulation, made: Publication, photos: "Future[list[Medium]]") -> None:
    problem = photos.exception()
    if problem is None:
        made.post.media = photos.result()
        sim.world.add_post(made.post)
    else:
        made.failure = "photo_pull_failed" if isinstance(problem, FetchFailed) else "file_format_check_failed"
        if isinstance(problem, FetchTooBig | PictureTooLarge):
            made.failure = "picture_size_check_failed"


def _photo(sim: Simulation, url: Any) -> Medium:
    photo = inspection.photo(sim.fetcher.get(str(url), PHOTO_BYTES, follow_redirects=False).data)
    if photo.format not in PHOTO_FORMATS:
        raise NotMedia(photo.format)
    if min(photo.width, photo.height) > PHOTO_SHORTER_SIDE:
        raise PictureTooLarge
    return Medium("photo", photo.bytes, str(url))


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
