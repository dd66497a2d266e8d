"""Serves files to our own services: the URLs of the originals, or of the renditions that a platform needs."""

from contracts.caller import Caller
from contracts.media import GetFiles, MediaFile, MediaFiles
from contracts.platforms import JPEG, PLATFORMS
from contracts.renditions import FileFacts, Need, need_of
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
    name, facts = row.object_name, row.facts
    if need is not None:
        made = renditions.ready(context, row, need, give_up_at)
        name = row.object_of(made.slug)
        facts = FileFacts(
            type=row.kind,
            mime_type=need.mime_type,
            size_bytes=made.size_bytes or 0,
            width=made.width,
            height=made.height,
            duration_seconds=made.duration_seconds or row.duration_seconds,
            frame_rate=need.frame_rate or row.frame_rate,
        )
    return MediaFile.made_from(
        facts,
        media_id=row.id,
        source_url=context.bucket.get_url(name, facts.mime_type or row.mime_type, URL_VALID_FOR),
        public_url=context.public_url(name),
        generated=row.generated,
    )
