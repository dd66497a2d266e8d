"""Serves files to our own services: the URLs of the originals, or of the renditions that a platform needs."""

from contracts.caller import Caller
from contracts.media import GetFiles, MediaFile, MediaFiles
from contracts.platforms import JPEG, PLATFORMS
from contracts.renditions import Need, need_of
from media.context import URL_VALID_FOR, AppContext, reachable
from media.files import renditions
from media.records import MediaRow
from media.store.files import Files

#: What `GetFiles.jpeg` asks for: within the limit of Instagram, which is the smallest of those that take JPEGs alone.
JPEG_COPY = Need(mime_type=JPEG, max_bytes=PLATFORMS["IG"].files["photo"].size_bytes[1] or 0)


def get_files(context: AppContext, caller: Caller, request: GetFiles) -> MediaFiles:
    """Returns the URLs and properties of files in the requested order. Raises NOT_FOUND with field media_ids,
    MEDIA_PROCESSING, INVALID_FILE_CONTENT, SERVICE_UNAVAILABLE."""
    with context.database.reading() as connection:
        found = Files(connection).many(request.media_ids)
    rows = [reachable(caller, found.get(media_id), "media_ids") for media_id in request.media_ids]
    give_up_at = renditions.give_up_at()
    return MediaFiles(files=tuple(_file(context, row, _need(row, request), give_up_at) for row in rows))


def _need(row: MediaRow, request: GetFiles) -> Need | None:
    if request.platform is not None:
        return need_of(request.platform, row.facts)
    is_copied = request.jpeg and row.kind == "photo" and row.mime_type != JPEG
    return JPEG_COPY if is_copied else None


def _file(context: AppContext, row: MediaRow, need: Need | None, give_up_at: float) -> MediaFile:
    name, mime_type, size_bytes, frame_rate = row.object_name, row.mime_type, row.size_bytes, row.frame_rate
    width, height, seconds = row.width, row.height, row.duration_seconds
    video_codec, audio_codec = row.video_codec, row.audio_codec
    if need is not None:
        made = renditions.ready(context, row, need, give_up_at)
        name, mime_type, size_bytes = row.object_of(made.slug), need.mime_type, made.size_bytes or 0
        width, height, seconds = made.width, made.height, made.duration_seconds or seconds
        frame_rate, video_codec, audio_codec = need.frame_rate or frame_rate, None, None
    return MediaFile(
        media_id=row.id,
        type=row.kind,
        mime_type=mime_type,
        size_bytes=size_bytes,
        source_url=context.bucket.get_url(name, mime_type, URL_VALID_FOR),
        public_url=context.public_url(name),
        width=width,
        height=height,
        duration_seconds=seconds,
        frame_rate=frame_rate,
        video_codec=video_codec,
        audio_codec=audio_codec,
        generated=row.generated,
    )
