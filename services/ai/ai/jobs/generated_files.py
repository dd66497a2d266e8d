"""A generated file becomes media: reserved, put into storage, committed. Its bytes go past the bus."""

from collections.abc import Callable, Iterable

import msgspec
import structlog

from ai.context import AppContext
from ai.providers.base import GenerationFailed
from ai.records import Job
from ai.rules.file_types import ENDINGS
from ai.storage import StorageFailed
from ai.store.jobs import Jobs
from contracts.caller import Caller
from contracts.errors import QUOTA_EXCEEDED, SERVICE_UNAVAILABLE, ApiError
from contracts.media import BeginUpload, CommitUpload, Media, MediaId, UploadId
from contracts.record import Nothing

log = structlog.get_logger()

#: Less room than this is too little for anything that is made. Our choice.
PICTURE_BYTES, VIDEO_BYTES = 256 * 1024, 2 * 2**20
#: media looks at the whole file.
_COMMIT_SECONDS = 30.0
#: An answer that is lost is mostly had by asking again. Our choice.
_COMMIT_TRIES = 2
#: When what became of a file may be asked for again. Our choice.
_COME_AGAIN_SECONDS = 3


class OutcomeOpen(ApiError):
    """SERVICE_UNAVAILABLE of media after it was told of a file: it may keep it. Who asks again is told; until then
    nobody is refunded.
    """


def check_room(context: AppContext, caller: Caller, expected_bytes: int) -> None:
    """Before anything is charged. Raises QUOTA_EXCEEDED."""
    view = context.media.get_storage(caller, Nothing())
    if view.quota.remaining_bytes < expected_bytes:
        raise ApiError(QUOTA_EXCEEDED, quota=msgspec.to_builtins(view.quota))


def keep(
    context: AppContext,
    job: Job,
    mime_type: str,
    size_bytes: int,
    chunks: Iterable[bytes],
    on_stored: Callable[[str], None] = lambda upload_id: None,
) -> Media:
    """Raises ApiError (QUOTA_EXCEEDED, what media finds wrong with the file, SERVICE_UNAVAILABLE), OutcomeOpen,
    GenerationFailed.

    `on_stored` is told the upload's id when the bytes are there, before they are committed; what it raises ends this.
    """
    upload = BeginUpload(
        filename=f"{job.id}.{ENDINGS[mime_type]}", mime_type=mime_type, size_bytes=size_bytes, generated=True
    )
    caller = job.caller()
    ticket = context.media.begin_upload(caller, upload)
    try:
        deadline = context.lapses_at(job.claim)
        context.storage.put(ticket.url, ticket.headers, size_bytes, chunks, deadline=deadline)
    except BaseException as error:
        _abort(context, caller, ticket.upload_id)
        if isinstance(error, StorageFailed):
            log.warning("storage_failed", job_id=job.id, reason=str(error))
            raise GenerationFailed("The file could not be stored.", transient=True) from error
        raise
    on_stored(ticket.upload_id)
    return commit(context, job, ticket.upload_id, size_bytes)


def commit(context: AppContext, job: Job, upload_id: str, size_bytes: int) -> Media:
    """The same upload again is the same file, and so is another one of the same operation.

    Raises OutcomeOpen, ApiError.
    """
    request = CommitUpload(upload_id=upload_id, size_bytes=size_bytes)
    for _ in range(_COMMIT_TRIES):
        try:
            kept = context.media.commit_upload(job.caller(), request, timeout_seconds=_COMMIT_SECONDS)
        except ApiError as error:
            if error.row is not SERVICE_UNAVAILABLE:
                raise
        else:
            return Media(**{name: getattr(kept, name) for name in Media.__struct_fields__})
    raise OutcomeOpen(SERVICE_UNAVAILABLE, retry_after_seconds=_COME_AGAIN_SECONDS, job_id=job.id)


def discard(context: AppContext, job: Job, media: Media) -> None:
    """A file that came too late for its job; what stays behind is removed by media within a day.

    Only of one that failed: a job that goes on elsewhere will have this very file, which media keeps by operation.
    """
    try:
        with context.database.reading() as connection:
            failed = Jobs(connection).has_failed(job.id)
        if failed:
            context.media.delete_media(job.caller(), MediaId(id=media.media_id))
    except ApiError as error:
        log.warning("file_not_discarded", media_id=media.media_id, code=error.code)


def _abort(context: AppContext, caller: Caller, upload_id: str) -> None:
    try:
        context.media.abort_upload(caller, UploadId(upload_id=upload_id))
    except ApiError as error:
        log.warning("upload_not_aborted", upload_id=upload_id, code=error.code)
