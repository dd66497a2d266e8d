"""Videos step by step: begun at the provider, looked at every few seconds, brought into storage, told of.

Each step is claimed by a worker of any process and ends by saying when the next is due; a claim whose process died
lapses, and the next worker goes on with what is written. Whoever lost his claim writes nothing any more. A picture
whose process died when it was in storage comes this way too: its last step is the same.
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
from ai.jobs.images import one_source
from ai.providers.base import VIDEOS, Clip, GenerationFailed, Provider
from ai.records import VIDEO, Job
from ai.rules.file_types import mime_type_of
from ai.store.jobs import Jobs
from chassis.telemetry import tracing
from contracts.errors import SERVICE_UNAVAILABLE, ApiError
from contracts.media import Media

log = structlog.get_logger()

#: A start whose outcome nobody knows (its process died) is tried once more: the provider cannot be asked for it.
#: The customer pays once all the same. Our choice.
_MOST_STARTS = 2
_CHUNK_BYTES = 256 * 1024
#: Enough of a file to tell its type.
_HEAD_BYTES = 12


class ClaimLost(Exception):
    """The job has ended, or has another worker."""


def make_videos(context: AppContext) -> int:
    """One tick: as many due steps as there are places for; how many were claimed. Waits for none of them."""
    free = context.steps.free
    if free < 1:
        return 0
    with context.database.transaction() as connection:
        due = Jobs(connection).claim_due(free, context.settings.lease_seconds)
    for job in due:
        context.steps.start(partial(_step, context, job))
    return len(due)


def _step(context: AppContext, job: Job) -> None:
    settings = context.settings
    until = time.monotonic() + settings.fetch_seconds + 2 * settings.step_seconds
    traced = tracing.working(f"make {job.kind}", job.traceparent, "ai", job.account_id, job_id=job.id)
    with context.holding(job.claim, until), traced:
        try:
            _advance(context, job)
        except ClaimLost:
            log.info("claim_lost", job_id=job.id)
        except GenerationFailed as error:
            _end(context, job, error.reason)
        except ApiError as error:
            if (
                error.row is SERVICE_UNAVAILABLE
            ):  # media, or the database: again, until the job's time is over
                log.info("video_waits", job_id=job.id)
                _quietly(partial(_put_off, context, job))
            else:
                _end(context, job, error.message)
        except Exception:
            log.exception("video_failed", job_id=job.id)
            _end(context, job, "Something went wrong on our side.")


def _advance(context: AppContext, job: Job) -> None:
    """One step. Raises GenerationFailed for what ends the job, ClaimLost, ApiError."""
    media = _stored_before(context, job)
    if media is None and job.kind != VIDEO:
        raise GenerationFailed("It was not finished in time.")
    if media is None:
        media = _filmed(context, job)
    if media is None:
        return
    if lifecycle.complete(context, job.claim, media=media) is None:
        generated_files.discard(context, job, media)
        raise ClaimLost


def _filmed(context: AppContext, job: Job) -> Media | None:
    """The next step at the provider; the video when it was the last one. Raises what `_advance` does."""
    provider = context.provider(VIDEOS)
    if job.provider_operation is None:
        _begin(context, job, provider)
        return None
    if provider.name != job.provider:
        raise GenerationFailed("The AI provider was changed meanwhile.")
    media = None
    try:
        media = _finished(context, job, provider, job.provider_operation)
    except GenerationFailed as error:
        if not error.transient:
            raise
        log.info("video_step_again", job_id=job.id, reason=error.reason)
    if media is None:
        _put_off(context, job)
    return media


def _begin(context: AppContext, job: Job, provider: Provider) -> None:
    if job.starts >= _MOST_STARTS:
        raise GenerationFailed("The AI provider could not be asked for the video.")
    deadline = time.monotonic() + context.settings.step_seconds
    sources = one_source(job.source_url, job.source_media_id, required=False)
    try:
        with references.collected(context, job.caller(), **sources) as images:
            _held(context, lambda store: store.begin_start(job.claim, provider.name))
            operation = provider.start_video(
                job.brief,
                aspect_ratio=None if job.aspect_ratio == "default" else job.aspect_ratio,
                image=images[0] if images else None,
                deadline=deadline,
            )
    except GenerationFailed as error:
        wait = error.wait_seconds
        if wait is None:
            raise
        _held(context, lambda store: store.not_started(job.claim, wait))
        return
    _held(context, lambda store: store.started(job.claim, operation))
    _put_off(context, job)


def _stored_before(context: AppContext, job: Job) -> Media | None:
    """The file that an earlier worker had put into storage and had not seen committed; None if it is not there."""
    if job.upload_id is None or job.upload_bytes is None:
        return None
    try:
        return generated_files.commit(context, job, job.upload_id, job.upload_bytes)
    except ApiError as error:
        if error.row is SERVICE_UNAVAILABLE:
            raise
        log.info("upload_gone", job_id=job.id, code=error.code)
        return None


def _finished(context: AppContext, job: Job, provider: Provider, operation: str) -> Media | None:
    """The finished video as media; None while it is being made."""
    address = provider.poll_video(operation, deadline=time.monotonic() + context.settings.step_seconds)
    if address is None:
        return None
    deadline = time.monotonic() + context.settings.fetch_seconds
    with (
        provider.fetch_video(address, deadline=deadline) as clip,
        measured(clip, context.settings.max_video_bytes) as (size_bytes, chunks),
    ):
        head, mime_type = _type_of(chunks)
        return generated_files.keep(
            context,
            job,
            mime_type,
            size_bytes,
            chain((head,), chunks),
            lambda upload_id: _held(context, lambda store: store.uploaded(job.claim, upload_id, size_bytes)),
        )


@contextmanager
def measured(clip: Clip, max_bytes: int) -> Iterator[tuple[int, Iterator[bytes]]]:
    """The clip with its size, which storage wants to know first: by way of a file where the provider does not tell."""
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


def _type_of(chunks: Iterator[bytes]) -> tuple[bytes, str]:
    """The file's beginning, and what it says it is."""
    head = b""
    while len(head) < _HEAD_BYTES and (chunk := next(chunks, b"")):
        head += chunk
    if mime_type_of(head) != "video/mp4":
        raise GenerationFailed("The AI provider made something that is no video.")
    return head, "video/mp4"


def _held(context: AppContext, write: Callable[[Jobs], bool]) -> None:
    """Writes under the claim. Raises ClaimLost."""
    if not lifecycle.persist(context, lambda connection: write(Jobs(connection))):
        raise ClaimLost


def _put_off(context: AppContext, job: Job) -> None:
    _held(context, lambda store: store.put_off(job.claim, context.settings.poll_seconds))


def _end(context: AppContext, job: Job, reason: str) -> None:
    """Who cannot write it leaves it to the next worker."""
    _quietly(partial(lifecycle.fail, context, job.claim, reason))


def _quietly(write: Callable[[], object]) -> None:
    try:
        write()
    except (ApiError, ClaimLost) as error:
        log.info("outcome_not_written", reason=str(error))
