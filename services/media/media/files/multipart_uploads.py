"""Large files that their owner puts into storage himself: in parts, at addresses that bind each part's size."""

from datetime import timedelta

from contracts.caller import Caller
from contracts.errors import NOT_FOUND, SERVICE_UNAVAILABLE, UPLOAD_ERROR, ApiError
from contracts.media import BeginParts, CompleteParts, Part, UploadedMedia, UploadParts
from media.context import AppContext
from media.files import uploads
from media.records import MediaRow, Upload
from media.storage.bucket import NoSuchUpload
from media.store.uploads import Uploads

#: S3 takes no part but the last below 5 MiB. Our choice.
PART_BYTES = 8 * 2**20
#: Our choice.
RESERVED = timedelta(hours=24)


def begin(context: AppContext, caller: Caller, request: BeginParts) -> UploadParts:
    """Reserve storage, and an address for each part; the same operation again answers the same upload.

    Raises what `uploads.begin` does.
    """
    upload = uploads.reserve(
        context,
        caller,
        request.filename,
        request.mime_type,
        request.size_bytes,
        RESERVED,
        part_size_bytes=PART_BYTES,
    )
    parts_id = upload.parts_id or _parts_id(context, upload)
    return UploadParts(
        upload_id=upload.id,
        part_size_bytes=PART_BYTES,
        parts=tuple(
            Part(
                number=number,
                url=context.objects.part_address(upload.object_name, parts_id, number, size_bytes, RESERVED),
            )
            for number, size_bytes in enumerate(_sizes(upload), 1)
        ),
        expires_at=upload.expires_at,
    )


def _parts_id(context: AppContext, upload: Upload) -> str:
    """The storage's own id of it, new and noted. Raises SERVICE_UNAVAILABLE."""
    try:
        parts_id = context.objects.begin_parts(upload.object_name, upload.mime_type)
    except ApiError:
        uploads.remove(context, upload)
        raise
    with context.database.transaction() as connection:
        noted = Uploads(connection).set_parts(upload.id, parts_id)
    if not noted:
        context.objects.abort_parts(upload.object_name, parts_id)
        raise ApiError(SERVICE_UNAVAILABLE, retry_after_seconds=1)
    return parts_id


def complete(context: AppContext, caller: Caller, request: CompleteParts) -> UploadedMedia:
    """Put the parts together, then look at the file as at any other. The same again answers the same.

    Raises NOT_FOUND, UPLOAD_ERROR (parts missing; they may still be put), INVALID_FILE_CONTENT, SERVICE_UNAVAILABLE.
    """
    upload = uploads.claim(context, caller, request.id)
    if isinstance(upload, MediaRow):
        return uploads.uploaded(context, caller, upload)
    try:
        _put_together(context, upload, request)
    except ApiError:
        uploads.release(context, upload)
        raise
    return uploads.keep_or_remove(context, caller, upload, upload.size_bytes)


def _put_together(context: AppContext, upload: Upload, request: CompleteParts) -> None:
    """Looks before it asks the storage to: some forget the whole upload when one etag is wrong."""
    if upload.parts_id is None:
        raise ApiError(NOT_FOUND)
    name, tags = upload.object_name, {part.number: part.etag.strip('"') for part in request.parts}
    try:
        there = context.objects.parts(name, upload.parts_id)
        wanted = {number: (tags.get(number), size) for number, size in enumerate(_sizes(upload), 1)}
        missing = [number for number, part in wanted.items() if there.get(number) != part]
        if missing or tags.keys() != wanted.keys():
            raise ApiError(
                UPLOAD_ERROR, f"Of the parts 1 to {len(wanted)} some are missing.", missing=missing
            )
        context.objects.complete_parts(name, upload.parts_id, sorted(tags.items()))
    except NoSuchUpload as error:
        # Done before, by a call that did not come to its end?
        if not upload.arrived(context.objects.size(name), upload.size_bytes):
            raise ApiError(UPLOAD_ERROR, "The upload is gone; begin it again.") from error


def _sizes(upload: Upload) -> list[int]:
    """Of each part, in bytes."""
    size = upload.part_size_bytes or PART_BYTES
    whole, rest = divmod(upload.size_bytes, size)
    return [size] * whole + ([rest] if rest else [])
