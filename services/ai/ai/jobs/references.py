"""Pictures a caller refers to: strangers' URLs through the guarded client, and his own media."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TypeVar

from ai.context import AppContext
from ai.providers.base import Picture
from ai.rules.file_types import REFERENCE_TYPES, mime_type_of
from ai.storage import StorageFailed
from chassis.http.addresses import UnsafeAddress
from chassis.http.guarded_client import FetchFailed, Stream, stream
from chassis.service import spawn_all
from contracts.caller import Caller
from contracts.errors import (
    BRAND_NOT_AUTHORIZED,
    INVALID_FILE_CONTENT,
    INVALID_REFERENCE_MEDIA,
    NOT_FOUND,
    ApiError,
)
from contracts.media import GetFiles, MediaFile
from contracts.platforms import GIF

T = TypeVar("T")

#: What servers call them.
_DECLARED_TYPES = (*REFERENCE_TYPES, "image/jpg")


@contextmanager
def collected(
    context: AppContext, caller: Caller, *, urls: Sequence[str] = (), media_ids: Sequence[str] = ()
) -> Iterator[tuple[Picture, ...]]:
    """All pictures, those by URL first, in memory that is theirs until the block ends.

    Raises INVALID_REFERENCE_MEDIA, SERVICE_UNAVAILABLE.
    """
    if not urls and not media_ids:
        yield ()
        return
    files = _files(context, caller, media_ids)
    deadline = time.monotonic() + context.settings.reference_seconds
    with ExitStack() as streams:
        # Their servers say how large they are before there has to be room for them.
        answers = _all([partial(_begun, context, url, deadline, streams) for url in urls])
        most_bytes = sum(file.size_bytes for file in files)
        for answer in answers:
            told = answer.length_bytes
            most_bytes += context.settings.max_reference_bytes if told is None else told
        with context.room(caller.account_id, most_bytes) as keep:
            tasks = [partial(_fetched, url, answer) for url, answer in zip(urls, answers, strict=True)]
            pictures = _all(tasks + [partial(_stored, context, file, deadline) for file in files])
            streams.close()
            keep(sum(len(picture.body) for picture in pictures))
            yield pictures


def _all(tasks: Sequence[Callable[[], T]]) -> tuple[T, ...]:
    """What they make, at once. Raises what the first of them that failed did."""
    made = spawn_all(tasks)
    for one in made:
        if isinstance(one, Exception):
            raise one
    return tuple(made)


def _begun(context: AppContext, url: str, deadline: float, streams: ExitStack) -> Stream:
    with _refusals(url):
        answer = streams.enter_context(
            stream(
                url,
                max_bytes=context.settings.max_reference_bytes,
                timeout_seconds=max(deadline - time.monotonic(), 0.1),
                allowed_types=_DECLARED_TYPES,
                host_map=context.settings.outbound_host_map,
            )
        )
    if answer.status != 200:
        raise _invalid(url, f"Its server answers {answer.status}.")
    return answer


def _fetched(url: str, answer: Stream) -> Picture:
    chunks, left = [], answer.length_bytes
    with _refusals(url):
        for chunk in answer.chunks:
            chunks.append(chunk)
            left = None if left is None else left - len(chunk)
            if left is not None and left < 0:  # it may come in chunks of HTTP's own
                raise _invalid(url, "It is longer than its server says.")
    return _judged(url, b"".join(chunks))


@contextmanager
def _refusals(url: str) -> Iterator[None]:
    try:
        yield
    except UnsafeAddress as error:
        raise _invalid(url, error.reason) from error
    except FetchFailed as error:
        raise _invalid(url, error.message) from error


def _files(context: AppContext, caller: Caller, media_ids: Sequence[str]) -> Sequence[MediaFile]:
    if not media_ids:
        return ()
    files = _asked(context, caller, GetFiles(media_ids=tuple(media_ids)))
    if gifs := tuple(file.media_id for file in files if file.mime_type == GIF):
        jpegs = {file.media_id: file for file in _asked(context, caller, GetFiles(media_ids=gifs, jpeg=True))}
        files = [jpegs.get(file.media_id, file) for file in files]
    for file in files:
        if file.mime_type not in REFERENCE_TYPES:
            raise _invalid(file.media_id, "It is no picture.")
        if file.size_bytes > context.settings.max_reference_bytes:
            raise _invalid(file.media_id, f"It is larger than {context.settings.max_reference_bytes} bytes.")
    return files


def _asked(context: AppContext, caller: Caller, request: GetFiles) -> Sequence[MediaFile]:
    try:
        files: Sequence[MediaFile] = context.media.get_files(
            caller, request, timeout_seconds=context.settings.reference_seconds
        ).files
    except ApiError as error:
        if error.row in (NOT_FOUND, BRAND_NOT_AUTHORIZED, INVALID_FILE_CONTENT):
            raise ApiError(
                INVALID_REFERENCE_MEDIA, "A media id is not an image you own.", **error.extras
            ) from error
        raise
    return files


def _stored(context: AppContext, file: MediaFile, deadline: float) -> Picture:
    try:
        body = context.storage.get(
            file.source_url, max_bytes=context.settings.max_reference_bytes, deadline=deadline
        )
    except StorageFailed as error:
        raise _invalid(file.media_id, "It could not be read.") from error
    return _judged(file.media_id, body)


def _judged(reference: str, body: bytes) -> Picture:
    mime_type = mime_type_of(body)
    if mime_type not in REFERENCE_TYPES:
        raise _invalid(reference, "It is no JPEG, PNG or WebP.")
    return Picture(body, mime_type)


def _invalid(reference: str, why: str) -> ApiError:
    return ApiError(INVALID_REFERENCE_MEDIA, f"{reference[:200]}: {why}", reference=reference)
