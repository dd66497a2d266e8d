"""Stores generated files with the media service: reserves an upload, sends the bytes to storage, commits. No bytes
travel on the bus."""

import random
import time
from collections.abc import Callable, Iterable

import msgspec
import structlog

from ai.context import AppContext
from ai.providers.base import GenerationFailed
from ai.records import Job
from ai.rules.file_names import file_name
from ai.rules.file_types import EXTENSIONS
from ai.storage import StorageError
from ai.store.jobs import Jobs
from chassis.bus.clients import remote
from contracts.caller import Caller
from contracts.errors import QUOTA_EXCEEDED, SERVICE_UNAVAILABLE, ApiError
from contracts.media import BeginUpload, CommitUpload, Media, MediaId, UploadId, UploadTicket
from contracts.record import Nothing

log = structlog.get_logger()

#: With less free storage than this, hardly any file of that kind fits: the call is refused before it is charged.
PICTURE_BYTES, VIDEO_BYTES = 256 * 1024, 2 * 2**20
#: Pause before the media service is asked again for a reservation. Our choice: a restart takes a few seconds.
_RESERVE_PAUSE_SECONDS = 0.5
#: Deadline of a commit, during which the media service reads the whole file.
_COMMIT_SECONDS = 30.0
#: Tries of a commit: if an answer is lost, the second try usually gets it.
_COMMIT_TRIES = 2
#: Pause before the second try. By then the media service usually answers again after a restart, or has ended its check
#: of the file. The length is random, so that jobs that failed together do not come back together. Our choice.
_COMMIT_PAUSE_SECONDS = (1.0, 3.0)
#: When a client may ask again about a file whose commit has no known outcome: the media service often answers again
#: within seconds.
_RETRY_AFTER_SECONDS = 3


class CommitOutcomeUnknown(ApiError):
    """Raised when the media service did not answer a commit: it may have kept the file, or not. The job is not refunded
    until the media service answers.
    """


def check_quota(context: AppContext, caller: Caller, expected_bytes: int) -> None:
    """Checks, before anything is charged, that the account's storage has room for the file. Raises QUOTA_EXCEEDED if it
    has not.
    """
    view = context.media.get_storage(caller, Nothing())
    if view.quota.remaining_bytes < expected_bytes:
        raise ApiError(QUOTA_EXCEEDED, quota=msgspec.to_builtins(view.quota))


def save(
    context: AppContext,
    job: Job,
    mime_type: str,
    size_bytes: int,
    chunks: Iterable[bytes],
    on_stored: Callable[[str], None] = lambda upload_id: None,
) -> Media:
    """Stores a generated file and returns it as a file of the media service.

    Calls `on_stored` with the upload id when the bytes are stored, before the commit. Raises GenerationFailed if the
    storage does not take the bytes, CommitOutcomeUnknown if the media service does not answer the commit, and any error
    of `chunks` or `on_stored`. Raises ApiError if the media service is down or refuses the file.
    """
    upload = BeginUpload(
        filename=file_name(job.prompt, EXTENSIONS[mime_type], job.id),
        mime_type=mime_type,
        size_bytes=size_bytes,
        generated=True,
    )
    caller = job.caller()
    ticket = _reserve(context, job, upload)
    try:
        deadline = context.claim_ends_at(job.claim)
        context.storage.put(ticket.url, ticket.headers, size_bytes, chunks, deadline=deadline)
    except BaseException as error:
        _abort(context, caller, ticket.upload_id)
        if isinstance(error, StorageError):
            log.warning("storage_failed", job_id=job.id, reason=str(error))
            raise GenerationFailed("The file could not be stored.", transient=True) from error
        raise
    on_stored(ticket.upload_id)
    return commit(context, job, ticket.upload_id, size_bytes)


def _reserve(context: AppContext, job: Job, upload: BeginUpload) -> UploadTicket:
    """Reserves room for a generated file with the media service, and returns where to send the bytes. Repeats the call
    while the media service is down or busy, because the provider's work is already paid for.

    If a call reserves room but its answer is lost, the media service frees this room later. Raises ApiError: the media
    service's refusal, or SERVICE_UNAVAILABLE if the job's claim ends first.
    """
    while True:
        try:
            return context.media.begin_upload(job.caller(), upload)
        except ApiError as error:
            next_try_at = time.monotonic() + _RESERVE_PAUSE_SECONDS
            if error.row is not SERVICE_UNAVAILABLE or next_try_at > context.claim_deadline(job.claim):
                raise
        context.pause(_RESERVE_PAUSE_SECONDS)


def commit(context: AppContext, job: Job, upload_id: str, size_bytes: int) -> Media:
    """Commits the upload: the media service inspects and keeps the file. A repeated call for the same upload or
    operation returns the same file.

    Raises CommitOutcomeUnknown if the media service does not answer, and ApiError if it refuses the file.
    """
    request = CommitUpload(upload_id=upload_id, size_bytes=size_bytes)
    commit_upload = remote(context.media.commit_upload)
    for number in range(_COMMIT_TRIES):
        if number:
            context.pause(random.uniform(*_COMMIT_PAUSE_SECONDS))
        try:
            kept = commit_upload(job.caller(), request, timeout_seconds=_COMMIT_SECONDS)
        except ApiError as error:
            if error.row is not SERVICE_UNAVAILABLE:
                raise
        else:
            return Media.made_from(kept)
    raise CommitOutcomeUnknown(SERVICE_UNAVAILABLE, retry_after_seconds=_RETRY_AFTER_SECONDS, job_id=job.id)


def discard(context: AppContext, job: Job, media: Media) -> None:
    """Deletes a file that arrived after its job had failed. If the deletion fails, the media service removes the file
    within a day.

    Deletes nothing if the job has not failed: then another worker has taken the job over, and uses the same file,
    because the media service has one file per operation.
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
