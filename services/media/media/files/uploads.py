"""Uploads: storage is reserved, the bytes arrive at a presigned URL, and are inspected and kept, or removed."""

from collections.abc import Callable
from datetime import timedelta

import structlog

from chassis.ids import new_id
from contracts.caller import Caller
from contracts.errors import FILE_TOO_LARGE, INVALID_FILE_CONTENT, NOT_FOUND, SERVICE_UNAVAILABLE, ApiError
from contracts.media import BeginParts, BeginUpload, CommitUpload, UploadedMedia, UploadId, UploadTicket
from contracts.plans import PLANS
from contracts.record import Nothing
from contracts.renditions import FileFacts
from media import file_types, names
from media.cleanup import remove_now
from media.context import AppContext, reaches
from media.files.thumbnails import THUMBNAILS_DUE
from media.inspection.uploaded_files import inspect
from media.models import MediaRow, Upload
from media.store import Connection
from media.store.files import Files
from media.store.removals import Removals
from media.store.uploads import Uploads

log = structlog.get_logger()

#: A stream through the gateway takes minutes at most. Our choice.
RESERVED = timedelta(minutes=15)
#: A client has a day for a multipart upload. Our choice.
PARTS_RESERVED = timedelta(hours=24)
#: S3 refuses parts below 5 MiB, except for the last. Our choice.
PART_BYTES = 8 * 2**20
#: Inspecting the largest file takes seconds; after this time another call may try. Our choice.
_INSPECTION_LEASE = timedelta(minutes=3)
#: How long the call that removes a file has for it before the background loop tries it as well. Our choice.
_REMOVAL_LEASE = timedelta(seconds=60)
_GONE = "The upload does not exist or has expired. Start a new one."


def begin(context: AppContext, caller: Caller, request: BeginUpload) -> UploadTicket:
    """Reserves storage for an upload and returns where to put the bytes. Raises the errors of `reserve`."""
    upload = reserve(context, caller, request)
    return UploadTicket(
        upload_id=upload.id,
        url=context.bucket.put_url(upload.object_name, RESERVED),
        headers=context.bucket.put_headers(upload.mime_type),
        expires_at=upload.expires_at,
    )


def reserve(context: AppContext, caller: Caller, request: BeginUpload | BeginParts) -> Upload:
    """Reserves storage for an upload and returns its row. A repeated operation gets the multipart upload that it began;
    if it uploads a generated file again, its earlier reservation ends. Several processes may upload a copy at once: one
    is kept. Raises UPLOAD_ERROR for a type that is not accepted, INVALID_FILE_CONTENT for an empty file,
    FILE_TOO_LARGE, and QUOTA_EXCEEDED if the account has too little storage left.
    """
    plan = PLANS[caller.tier]
    ending = names.ending(request.filename)
    declared = file_types.check_declared(ending, request.mime_type)
    if request.size_bytes < 1:
        raise ApiError(INVALID_FILE_CONTENT, "The file is empty.")
    if request.size_bytes > plan.max_file_bytes:
        raise ApiError(FILE_TOO_LARGE, max_file_bytes=plan.max_file_bytes)
    in_parts = isinstance(request, BeginParts)
    generated = isinstance(request, BeginUpload) and request.generated
    operation_id = caller.operation_id if generated or in_parts else None
    values = {
        "id": new_id("upl"),
        "account_id": caller.account_id,
        "brand_ids": list(caller.brand_ids or ()),
        "operation_id": operation_id,
        "generated": generated,
        "key": names.new_key(),
        "filename": names.shown_name(request.filename),
        # A prompt, after which a generated file is named, does not become part of a public address.
        "slug": names.slug("" if generated else request.filename, file_types.ending_of(declared, ending)),
        "mime_type": declared,
        "size_bytes": request.size_bytes,
        "part_size_bytes": PART_BYTES if in_parts else None,
    }
    with context.database.transaction() as connection:
        uploads = Uploads(connection)
        uploads.lock_account(caller.account_id)
        if operation_id is not None:
            if begun := uploads.begun_parts(caller.account_id, operation_id):
                return begun
            Removals(connection).add(uploads.take_of_operation(caller.account_id, operation_id))
        context.check_room(connection, caller, request.size_bytes)
        return uploads.add(values, PARTS_RESERVED if in_parts else RESERVED)


def commit(context: AppContext, caller: Caller, request: CommitUpload) -> UploadedMedia:
    """Inspects the uploaded bytes, then keeps or removes the file. A repeated call returns the same result. Raises
    INVALID_FILE_CONTENT for a file that is not accepted, UPLOAD_ERROR if bytes are missing, QUOTA_EXCEEDED if the file
    became too large, NOT_FOUND for an unknown upload, and SERVICE_UNAVAILABLE if the storage does not answer.
    """
    return finish(context, caller, request.upload_id, lambda _: request.size_bytes)


def finish(
    context: AppContext, caller: Caller, upload_id: str, arrive: Callable[[Upload], int]
) -> UploadedMedia:
    """Does the work of `commit`. `arrive` checks that the bytes of the claimed upload are there, and returns the
    announced size. If it raises an error, the upload is released unchanged.
    """
    with context.database.transaction() as connection:
        uploads = Uploads(connection)
        found = uploads.get(upload_id) or Files(connection).by_upload(upload_id)
        if found is None or not reaches(caller, found):
            raise ApiError(NOT_FOUND, _GONE)
        claimed = uploads.claim(upload_id, _INSPECTION_LEASE)
        if claimed is None:
            kept = _kept_by_other(connection, upload_id)
    if claimed is not None:
        kept = _inspect_and_keep(context, caller, claimed, arrive)
    with context.database.reading() as connection:
        quota = context.storage(connection, caller)
    return UploadedMedia.made_from(context.view(kept), tier=caller.tier, quota=quota)


def _inspect_and_keep(
    context: AppContext, caller: Caller, upload: Upload, arrive: Callable[[Upload], int]
) -> MediaRow:
    has_arrived = False
    try:
        announced_bytes = arrive(upload)
        has_arrived = True
        kept = _keep(context, caller, upload, inspect(context, upload, announced_bytes))
    except Exception as error:
        # Otherwise it is not the file's fault, or unknown whose.
        if has_arrived and isinstance(error, ApiError) and error.row is not SERVICE_UNAVAILABLE:
            log.info("upload_refused", upload_id=upload.id, code=error.code, mime_type=upload.mime_type)
            is_ended = remove(context, upload, Uploads.end_claimed)
        else:
            with context.database.transaction() as connection:
                is_ended = Uploads(connection).release(upload)
        if not is_ended:
            with context.database.reading() as connection:
                return _kept_by_other(connection, upload.id)
        raise
    THUMBNAILS_DUE.wake()
    return kept


def _keep(context: AppContext, caller: Caller, upload: Upload, facts: FileFacts) -> MediaRow:
    """Makes a file of the claimed upload, or finds the one that another call has made of it. Returns the file."""
    with context.database.transaction() as connection:
        files, uploads = Files(connection), Uploads(connection)
        grown_bytes = (facts.size_bytes or 0) - upload.size_bytes
        if grown_bytes > 0:
            uploads.lock_account(upload.account_id)
            context.check_room(connection, caller, grown_bytes)
        if not uploads.end_claimed(upload):
            return _kept_by_other(connection, upload.id)
        if files.add(new_id("med"), upload, facts):
            kept = files.by_upload(upload.id)
        else:
            Removals(connection).add([upload])
            kept = files.by_operation(upload.account_id, upload.operation_id)
    assert kept is not None
    return kept


def abort(context: AppContext, caller: Caller, request: UploadId) -> Nothing:
    """Ends an unfinished upload and removes its bytes. Raises NOT_FOUND for one that the caller may not access."""
    with context.database.reading() as connection:
        upload = Uploads(connection).get(request.upload_id)
    if upload is not None:
        if not reaches(caller, upload):
            raise ApiError(NOT_FOUND)
        remove(context, upload)
    return Nothing()


def remove(
    context: AppContext, upload: Upload, end: Callable[[Uploads, Upload], bool] = Uploads.remove
) -> bool:
    """Ends an upload by `end` and removes its bytes. If `end` returns False, removes nothing and returns False."""
    with context.database.transaction() as connection:
        if not end(Uploads(connection), upload):
            return False
        Removals(connection).add([upload], lease=_REMOVAL_LEASE)
    remove_now(context, upload)
    return True


def _kept_by_other(connection: Connection, upload_id: str) -> MediaRow:
    """Returns the file that another call made of the upload. Raises SERVICE_UNAVAILABLE while that call is at work, and
    NOT_FOUND if the upload ended without becoming a file.
    """
    # In this order: the other call may turn the upload into media between the two statements.
    if Uploads(connection).get(upload_id) is not None:
        message = "The upload is being checked. Try again in a moment."
        raise ApiError(SERVICE_UNAVAILABLE, message, retry_after_seconds=1)
    kept = Files(connection).by_upload(upload_id)
    if kept is None:
        raise ApiError(NOT_FOUND, _GONE)
    return kept
