"""Files for our own services: their URLs, and JPEG copies for platforms that accept nothing else."""

import tempfile

from chassis.sandbox.pool import NotStarted, WorkFailed
from contracts.caller import Caller
from contracts.errors import INVALID_FILE_CONTENT, NOT_FOUND, SERVICE_UNAVAILABLE, ApiError
from contracts.media import GetFiles, MediaFile, MediaFiles
from contracts.platforms import JPEG, PLATFORMS
from media.context import URL_VALID_FOR, AppContext, reachable
from media.inspection.uploaded_files import put_file
from media.records import MediaRow
from media.store.files import Files

#: The smallest limit of the platforms that get JPEG copies.
MAX_JPEG_BYTES = min(
    limits.size_bytes[1]
    for platform in PLATFORMS.values()
    for limits in platform.files.values()
    if limits.converted and limits.size_bytes[1] is not None
)


def get_files(context: AppContext, caller: Caller, request: GetFiles) -> MediaFiles:
    """Returns files in the requested order. Raises NOT_FOUND with field media_ids, INVALID_FILE_CONTENT,
    SERVICE_UNAVAILABLE.
    """
    with context.database.reading() as connection:
        found = Files(connection).many(request.media_ids)
    rows = [reachable(caller, found.get(media_id), "media_ids") for media_id in request.media_ids]
    return MediaFiles(files=tuple(_file(context, row, jpeg=request.jpeg) for row in rows))


def _file(context: AppContext, row: MediaRow, *, jpeg: bool) -> MediaFile:
    name, mime_type, size_bytes = row.object_name, row.mime_type, row.size_bytes
    if jpeg and row.kind == "photo" and mime_type != JPEG:
        size_bytes = row.jpeg_size_bytes or 0
        if not 0 < size_bytes <= MAX_JPEG_BYTES:  # no copy yet, or one from when the limit was higher
            size_bytes = make_jpeg(context, row)
        name, mime_type = row.jpeg_name, JPEG
    return MediaFile(
        media_id=row.id,
        type=row.kind,
        mime_type=mime_type,
        size_bytes=size_bytes,
        source_url=context.bucket.get_url(name, mime_type, URL_VALID_FOR),
        public_url=context.public_url(name),
        width=row.width,
        height=row.height,
        duration_seconds=row.duration_seconds,
        frame_rate=row.frame_rate,
        generated=row.generated,
    )


def make_jpeg(context: AppContext, row: MediaRow) -> int:
    """Stores a JPEG copy beside the image and returns its size in bytes. Two at once store the same copy.

    Raises NOT_FOUND (deleted meanwhile), INVALID_FILE_CONTENT, SERVICE_UNAVAILABLE.
    """
    with (
        context.inspection_slot(row.account_id),
        tempfile.TemporaryFile() as original,
        tempfile.TemporaryFile() as made,
    ):
        context.bucket.download(row.object_name, original)
        argument = {"mime_type": row.mime_type, "max_bytes": MAX_JPEG_BYTES}
        try:
            context.sandbox_pool.run("make_jpeg", argument, (original.fileno(), made.fileno()))
        except NotStarted as error:
            raise ApiError(SERVICE_UNAVAILABLE, retry_after_seconds=2) from error
        except WorkFailed as failure:
            raise ApiError(INVALID_FILE_CONTENT, "The image cannot be converted to JPEG.") from failure
        size_bytes = put_file(context, row.jpeg_name, made, JPEG)
    with context.database.transaction() as connection:
        there = Files(connection).set_jpeg(row.id, size_bytes)
    if not there:
        context.bucket.remove_key(row.key)
        raise ApiError(NOT_FOUND, field="media_ids")
    return size_bytes
