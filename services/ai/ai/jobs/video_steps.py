"""Makes videos in steps: a video is started at the provider, polled, stored and completed.

A worker of any process claims each step, and a step ends by storing when the next one is due. When a process dies, its
claim lapses, and the next worker continues from what is stored. Once another worker has claimed the job, the first can
no longer write to it.

A step also completes an image whose process died after the bytes were stored: it commits the image's file.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import chain
from tempfile import TemporaryFile

import structlog

from ai.context import AppContext
from ai.jobs import generated_files, lifecycle, references
from ai.jobs.images import single_reference
from ai.providers.base import VIDEOS, Clip, GenerationFailed, Provider
from ai.records import VIDEO, Job
from ai.rules.file_types import detect_mime_type
from ai.store.jobs import Jobs
from chassis.telemetry import tracing
from contracts.errors import SERVICE_UNAVAILABLE, ApiError
from contracts.media import Media

log = structlog.get_logger()

#: The provider cannot be asked whether a start arrived when the process died meanwhile, so it is repeated once. The
#: customer pays once all the same.
_MAX_STARTS = 2
_CHUNK_BYTES = 256 * 1024
#: Enough bytes to detect the type.
_HEAD_BYTES = 12


class ClaimLost(Exception):
    """Raised when the job has ended or another worker has claimed it: this worker must not write any more."""


def make_videos(context: AppContext) -> int:
    """Starts the due steps of videos, at most as many as there are free slots, without waiting until they end. Returns
    how many steps it started.
    """
    free = context.video_steps_pool.free
    if free < 1:
        return 0
    with context.database.transaction() as connection:
        due = Jobs(connection).claim_due(free, context.settings.lease_seconds)
    for job in due:
        context.video_steps_pool.start(partial(_step, context, job))
    return len(due)


def _step(context: AppContext, job: Job) -> None:
    settings = context.settings
    until = time.monotonic() + settings.fetch_seconds + 2 * settings.step_seconds
    traced = tracing.working(f"make {job.kind}", job.traceparent, "ai", job.account_id, job_id=job.id)
    with context.hold_claim(job.claim, until), traced:
        try:
            _run_step(context, job)
        except ClaimLost:
            log.info("claim_lost", job_id=job.id)
        except GenerationFailed as error:
            _end(context, job, error.reason)
        except ApiError as error:
            if error.row is SERVICE_UNAVAILABLE:  # of media or the database: until the job's time limit
                log.info("video_postponed", job_id=job.id)
                _try_to_write(partial(_postpone, context, job))
            else:
                _end(context, job, error.message)
        except Exception:
            log.exception("video_failed", job_id=job.id)
            _end(context, job, "Something went wrong on our side.")


def _run_step(context: AppContext, job: Job) -> None:
    """Runs the next step of a claimed job: commits a file that an earlier worker stored, or starts, polls or fetches
    the video.

    Raises GenerationFailed if the job must end, ClaimLost if another worker has the job, and ApiError if another
    service or the database fails.
    """
    media = _commit_stored(context, job)
    if media is None and job.kind != VIDEO:
        raise GenerationFailed("The job did not finish in time.")
    if media is None:
        media = _provider_step(context, job)
    if media is None:
        return
    if lifecycle.complete(context, job.claim, media=media) is None:
        generated_files.discard(context, job, media)
        raise ClaimLost


def _provider_step(context: AppContext, job: Job) -> Media | None:
    """Starts the video at the provider, or asks whether it is finished. Returns the stored video once it is, else None.

    Raises GenerationFailed if the job must end, ClaimLost if another worker has the job, and ApiError if another
    service or the database fails.
    """
    provider = context.provider(VIDEOS)
    if job.provider_operation is None:
        _begin(context, job, provider)
        return None
    if provider.name != job.provider:
        raise GenerationFailed("The AI provider was changed while the video was being generated.")
    media = None
    try:
        media = _fetch_finished(context, job, provider, job.provider_operation)
    except GenerationFailed as error:
        if not error.transient:
            raise
        log.info("video_step_retried", job_id=job.id, reason=error.reason)
    if media is None:
        _postpone(context, job)
    return media


def _begin(context: AppContext, job: Job, provider: Provider) -> None:
    if job.starts >= _MAX_STARTS:
        raise GenerationFailed("The video could not be started at the AI provider.")
    deadline = time.monotonic() + context.settings.step_seconds
    sources = single_reference(job.source_url, job.source_media_id, required=False)
    try:
        with references.collected(context, job.caller(), **sources) as images:
            _write_under_claim(context, lambda store: store.note_start_attempt(job.claim, provider.name))
            operation = provider.start_video(
                job.brief,
                aspect_ratio=job.provider_aspect_ratio,
                image=images[0] if images else None,
                deadline=deadline,
            )
    except GenerationFailed as error:
        wait = error.wait_seconds
        if wait is None:
            raise
        _write_under_claim(context, lambda store: store.note_start_deferred(job.claim, wait))
        return
    _write_under_claim(context, lambda store: store.started(job.claim, operation))
    _postpone(context, job)


def _commit_stored(context: AppContext, job: Job) -> Media | None:
    """Commits the file whose bytes an earlier worker of this job has stored, and returns it. Returns None if no worker
    has stored bytes, or if the media service refuses the file or no longer has it.
    """
    if job.upload_id is None or job.upload_bytes is None:
        return None
    try:
        return generated_files.commit(context, job, job.upload_id, job.upload_bytes)
    except ApiError as error:
        if error.row is SERVICE_UNAVAILABLE:
            raise
        log.info("upload_gone", job_id=job.id, code=error.code)
        return None


def _fetch_finished(context: AppContext, job: Job, provider: Provider, operation: str) -> Media | None:
    """Returns the finished video, stored as a file of the media service; None while the provider is working on it."""
    address = provider.poll_video(operation, deadline=time.monotonic() + context.settings.step_seconds)
    if address is None:
        return None
    deadline = time.monotonic() + context.settings.fetch_seconds
    with (
        provider.fetch_video(address, deadline=deadline) as clip,
        measured(clip, context.settings.max_video_bytes) as (size_bytes, chunks),
    ):
        head, mime_type = _read_type(chunks)
        return generated_files.save(
            context,
            job,
            mime_type,
            size_bytes,
            chain((head,), chunks),
            lambda upload_id: _write_under_claim(
                context, lambda store: store.uploaded(job.claim, upload_id, size_bytes)
            ),
        )


@contextmanager
def measured(clip: Clip, max_bytes: int) -> Iterator[tuple[int, Iterator[bytes]]]:
    """Yields the video's size in bytes and its chunks, because the storage needs the size first. If the provider does
    not tell the size, the video is written to a temporary file. Raises GenerationFailed for a video of more than
    `max_bytes`.
    """
    too_large = GenerationFailed(f"The video is larger than {max_bytes} bytes.")
    if clip.size_bytes is not None:
        if clip.size_bytes > max_bytes:
            raise too_large
        yield clip.size_bytes, iter(clip.chunks)
        return
    with TemporaryFile() as file:
        for chunk in clip.chunks:
            if file.tell() + len(chunk) > max_bytes:
                raise too_large
            file.write(chunk)
        size_bytes = file.tell()
        file.seek(0)
        yield size_bytes, iter(lambda: file.read(_CHUNK_BYTES), b"")


def _read_type(chunks: Iterator[bytes]) -> tuple[bytes, str]:
    """Reads the first bytes of a video and returns them with the MIME type that they show. Raises GenerationFailed if
    it is not a video.
    """
    head = b""
    while len(head) < _HEAD_BYTES and (chunk := next(chunks, b"")):
        head += chunk
    if detect_mime_type(head) != "video/mp4":
        raise GenerationFailed("The AI provider returned a file that is not a video.")
    return head, "video/mp4"


def _write_under_claim(context: AppContext, write: Callable[[Jobs], bool]) -> None:
    """Runs `write`, which changes a job only if this worker still holds it. Raises ClaimLost if the job has ended or
    another worker has claimed it.
    """
    if not lifecycle.persist(context, lambda connection: write(Jobs(connection))):
        raise ClaimLost


def _postpone(context: AppContext, job: Job) -> None:
    _write_under_claim(context, lambda store: store.postpone(job.claim, context.settings.poll_seconds))


def _end(context: AppContext, job: Job, reason: str) -> None:
    """Marks the job as failed and refunds it. If that cannot be stored, the next worker tries again."""
    _try_to_write(partial(lifecycle.fail, context, job.claim, reason))


def _try_to_write(write: Callable[[], object]) -> None:
    try:
        write()
    except (ApiError, ClaimLost) as error:
        log.info("outcome_not_written", reason=str(error))
