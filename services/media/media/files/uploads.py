"""Uploads: storage is reserved, bytes arrive at a presigned address, the bytes are looked at, and become media or go.

A reservation ends in one of three ways: media, refusal, or its expiry (sweeps.py).
"""

from datetime import timedelta

import structlog

from chassis.ids import new_id
from contracts.caller import Caller
from contracts.errors import (
    FILE_TOO_LARGE,
    INVALID_FILE_CONTENT,
    NOT_FOUND,
    QUOTA_EXCEEDED,
    SERVICE_UNAVAILABLE,
    ApiError,
)
from contracts.media import BeginUpload, CommitUpload, UploadedMedia, UploadId, UploadTicket
from contracts.plans import PLANS
from contracts.record import Nothing
from media import names
from media.cleanup.removals import remove_now
from media.context import AppContext, reaches
from media.inspection.uploaded_files import look
from media.records import MediaRow, Seen, Upload
from media.store.files import Files
from media.store.removals import Removals
from media.store.uploads import Uploads

log = structlog.get_logger()

#: A stream through the gateway takes minutes at most. Our choice.
RESERVED = timedelta(minutes=15)
#: A look at the largest file takes seconds; after this another may look. Our choice.
_LOOK_LEASE = timedelta(minutes=3)


def begin(context: AppContext, caller: Caller, request: BeginUpload) -> UploadTicket:
    """Reserve storage and say where to put the bytes.

    Raises UPLOAD_ERROR, INVALID_FILE_CONTENT (empty), FILE_TOO_LARGE, QUOTA_EXCEEDED.
    """
    upload = reserve(
        context,
        caller,
        request.filename,
        request.mime_type,
        request.size_bytes,
        RESERVED,
        generated=request.generated,
    )
    return UploadTicket(
        upload_id=upload.id,
        url=context.objects.put_address(upload.object_name, RESERVED),
        headers=context.objects.put_headers(upload.mime_type),
        expires_at=upload.expires_at,
    )


def reserve(
    context: AppContext,
    caller: Caller,
    filename: str,
    mime_type: str,
    size_bytes: int,
    lasts: timedelta,
    *,
    generated: bool = False,
    part_size_bytes: int | None = None,
) -> Upload:
    """Exact however many ask at once: accounts take turns. Raises what `begin` does.

    The same operation again: an upload in parts is the one that was begun, its owner may have put parts by now. Whoever
    generates a file again does so because its maker is dead, or has lost its claim: what that one reserved is free.
    """
    plan = PLANS[caller.tier]
    declared = names.check_declared(filename, mime_type)
    if size_bytes < 1:
        raise ApiError(INVALID_FILE_CONTENT, "The file is empty.")
    if size_bytes > plan.max_file_bytes:
        raise ApiError(FILE_TOO_LARGE, max_file_bytes=plan.max_file_bytes)
    operation_id = caller.operation_id if generated or part_size_bytes else None
    values = {
        "id": new_id("upl"),
        "account_id": caller.account_id,
        "brand_ids": list(caller.brand_ids or ()),
        "operation_id": operation_id,
        "generated": generated,
        "key": names.new_key(),
        "filename": names.shown_name(filename),
        "slug": names.slug(filename),
        "mime_type": declared,
        "size_bytes": size_bytes,
        "part_size_bytes": part_size_bytes,
    }
    with context.database.transaction() as connection:
        uploads = Uploads(connection)
        uploads.lock_account(caller.account_id)
        if operation_id is not None:
            begun = uploads.begun_parts(caller.account_id, operation_id)
            if begun is not None:
                return begun
            Removals(connection).add(uploads.take_of_operation(caller.account_id, operation_id))
        quota = context.storage(connection, caller)
        if size_bytes > quota.remaining_bytes:
            raise ApiError(QUOTA_EXCEEDED, quota=quota)
        return uploads.add(values, lasts)


def commit(context: AppContext, caller: Caller, request: CommitUpload) -> UploadedMedia:
    """Look at the bytes; keep the file or remove it. The same again answers the same.

    Raises INVALID_FILE_CONTENT, UPLOAD_ERROR (bytes missing), NOT_FOUND, SERVICE_UNAVAILABLE.
    """
    upload = claim(context, caller, request.upload_id)
    if isinstance(upload, MediaRow):
        return uploaded(context, caller, upload)
    return keep_or_remove(context, caller, upload, request.size_bytes)


def claim(context: AppContext, caller: Caller, upload_id: str) -> Upload | MediaRow:
    """The upload, held for a look at it, or what it became. Raises NOT_FOUND, SERVICE_UNAVAILABLE (held already)."""
    with context.database.transaction() as connection:
        uploads = Uploads(connection)
        upload = uploads.get(upload_id)
        done = Files(connection).of_upload(upload_id) if upload is None else None
        found = upload or done
        if found is None or not reaches(caller, found):
            raise ApiError(NOT_FOUND, "There is no such upload, or it has expired.")
        if done is not None:
            return done
        claimed = uploads.claim(upload_id, _LOOK_LEASE)
    if claimed is None:
        raise ApiError(SERVICE_UNAVAILABLE, "The upload is being looked at.", retry_after_seconds=1)
    return claimed


def keep_or_remove(context: AppContext, caller: Caller, upload: Upload, size_bytes: int) -> UploadedMedia:
    """The look, and what follows from it. Raises INVALID_FILE_CONTENT, UPLOAD_ERROR, SERVICE_UNAVAILABLE."""
    try:
        with context.look():
            seen = look(context, upload, size_bytes)
        kept = _keep(context, upload, seen)
    except Exception as error:
        if isinstance(error, ApiError) and error.row is not SERVICE_UNAVAILABLE:
            log.info("upload_refused", upload_id=upload.id, code=error.code, mime_type=upload.mime_type)
            remove(context, upload)
        else:  # not the file's fault, or nobody knows whose
            release(context, upload)
        raise
    return uploaded(context, caller, kept)


def _keep(context: AppContext, upload: Upload, seen: Seen) -> MediaRow:
    """In one transaction the reservation becomes media. Of two for the same operation of AI's the first is kept."""
    with context.database.transaction() as connection:
        files = Files(connection)
        if not Uploads(connection).remove(upload.id):
            kept = files.of_upload(upload.id)  # we were slow, and somebody else took over
            if kept is None:
                raise ApiError(NOT_FOUND, "The upload has expired.")
            return kept
        if files.add(new_id("med"), upload, seen):
            kept = files.of_upload(upload.id)
        else:
            Removals(connection).add([upload])
            kept = files.of_operation(upload.account_id, upload.operation_id)
    assert kept is not None
    return kept


def abort(context: AppContext, caller: Caller, request: UploadId) -> Nothing:
    """End the reservation and remove what arrived, if it has not ended. Raises NOT_FOUND for a stranger's."""
    with context.database.reading() as connection:
        upload = Uploads(connection).get(request.upload_id)
    if upload is not None:
        if not reaches(caller, upload):
            raise ApiError(NOT_FOUND)
        remove(context, upload)
    return Nothing()


def remove(context: AppContext, upload: Upload) -> None:
    """End the reservation and remove what arrived: now, or by the clean-up if the storage is away."""
    with context.database.transaction() as connection:
        if not Uploads(connection).remove(upload.id):
            return
        Removals(connection).add([upload], lease=timedelta(seconds=60))
    remove_now(context, upload.key, upload.slug, upload.parts_id)


def release(context: AppContext, upload: Upload) -> None:
    """Let another try look at it."""
    with context.database.transaction() as connection:
        Uploads(connection).release(upload.id)


def uploaded(context: AppContext, caller: Caller, row: MediaRow) -> UploadedMedia:
    with context.database.reading() as connection:
        quota = context.storage(connection, caller)
    view = context.view(row)
    fields = {name: getattr(view, name) for name in view.__struct_fields__}
    return UploadedMedia(tier=caller.tier, quota=quota, **fields)
