"""Multipart uploads: clients put the parts of a large file into the storage, at URLs that fix each part's size."""

from functools import partial

from contracts.caller import Caller
from contracts.errors import NOT_FOUND, SERVICE_UNAVAILABLE, UPLOAD_ERROR, ApiError
from contracts.media import BeginParts, CompleteParts, Part, UploadedMedia, UploadParts
from media.context import AppContext
from media.files import uploads
from media.files.uploads import PART_BYTES, PARTS_RESERVED
from media.models import Upload
from media.storage.bucket import NoSuchUpload
from media.store.uploads import Uploads


def begin(context: AppContext, caller: Caller, request: BeginParts) -> UploadParts:
    """Begins a multipart upload: reserves storage and returns a URL for each part. A repeated operation gets the same
    upload. Raises the errors of `uploads.reserve`, and SERVICE_UNAVAILABLE if the storage does not answer.
    """
    upload = uploads.reserve(context, caller, request)
    name, parts_id = upload.object_name, upload.parts_id or _parts_id(context, upload)
    parts = tuple(
        Part(number=number, url=context.bucket.part_url(name, parts_id, number, size_bytes, PARTS_RESERVED))
        for number, size_bytes in enumerate(_sizes(upload), 1)
    )
    return UploadParts.made_from(upload, upload_id=upload.id, parts=parts)


def _parts_id(context: AppContext, upload: Upload) -> str:
    try:
        parts_id = context.bucket.begin_parts(upload.object_name, upload.mime_type)
    except ApiError:
        uploads.remove(context, upload)
        raise
    with context.database.transaction() as connection:
        noted = Uploads(connection).set_parts(upload.id, parts_id)
    if not noted:
        context.bucket.abort_parts(upload.object_name, parts_id)
        raise ApiError(SERVICE_UNAVAILABLE, retry_after_seconds=1)
    return parts_id


def complete(context: AppContext, caller: Caller, request: CompleteParts) -> UploadedMedia:
    """Assembles the uploaded parts and inspects the file. A repeated call returns the same file. Raises the errors of
    `uploads.commit`; missing parts may still be uploaded after UPLOAD_ERROR.
    """
    return uploads.finish(context, caller, request.id, partial(_assemble_parts, context, request))


def _assemble_parts(context: AppContext, request: CompleteParts, upload: Upload) -> int:
    """Lets the storage assemble the parts. Returns the file's size. Raises UPLOAD_ERROR if parts are missing."""
    if upload.parts_id is None:
        raise ApiError(NOT_FOUND)
    name, tags = upload.object_name, {part.number: part.etag.strip('"') for part in request.parts}
    try:
        there = context.bucket.parts(name, upload.parts_id)
        wanted = {number: (tags.get(number), size) for number, size in enumerate(_sizes(upload), 1)}
        # Some storages would drop the whole upload for one wrong ETag.
        missing = [number for number, part in wanted.items() if there.get(number) != part]
        if missing or tags.keys() != wanted.keys():
            raise ApiError(
                UPLOAD_ERROR,
                f"Some of the parts 1 to {len(wanted)} are missing or differ. Upload them again.",
                missing=missing,
            )
        context.bucket.complete_parts(name, upload.parts_id, sorted(tags.items()))
    except NoSuchUpload as error:
        # An earlier call may have assembled them and then died.
        if not upload.arrived(context.bucket.size(name), upload.size_bytes):
            raise ApiError(UPLOAD_ERROR, "The upload no longer exists. Start a new one.") from error
    return upload.size_bytes


def _sizes(upload: Upload) -> list[int]:
    size = upload.part_size_bytes or PART_BYTES
    whole, rest = divmod(upload.size_bytes, size)
    return [size] * whole + ([rest] if rest else [])
