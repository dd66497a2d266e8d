"""Reference images for an image or video: fetched by the guarded HTTP client, or read from the caller's files."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TypeVar

from ai.context import AppContext
from ai.providers.base import Picture
from ai.rules.file_types import REFERENCE_TYPES, detect_mime_type
from ai.storage import StorageError
from chassis.bus.clients import remote
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

#: What servers call these types.
_DECLARED_TYPES = (*REFERENCE_TYPES, "image/jpg")


@contextmanager
def collected(
    context: AppContext, caller: Caller, *, urls: Sequence[str] = (), media_ids: Sequence[str] = ()
) -> Iterator[tuple[Picture, ...]]:
    """Yields the reference images, those by URL before those by id. The memory for them is reserved until the block
    ends.

    Raises INVALID_REFERENCE_MEDIA for an image that cannot be used, and SERVICE_UNAVAILABLE when too little memory is
    free.
    """
    if not urls and not media_ids:
        yield ()
        return
    files = _files(context, caller, media_ids)
    deadline = time.monotonic() + context.settings.reference_seconds
    with ExitStack() as streams:
        # The servers announce sizes, so memory is reserved before any body is read.
        answers = _run_all([partial(_open, context, url, deadline, streams) for url in urls])
        most_bytes = sum(file.size_bytes for file in files)
        for answer in answers:
            announced = answer.length_bytes
            most_bytes += context.settings.max_reference_bytes if announced is None else announced
        with context.reference_memory.reserve(caller.account_id, most_bytes) as shrink_to:
            tasks = [partial(_fetched, url, answer) for url, answer in zip(urls, answers, strict=True)]
            pictures = _run_all(tasks + [partial(_read_stored, context, file, deadline) for file in files])
            streams.close()
            shrink_to(sum(len(picture.body) for picture in pictures))
            yield pictures


def _run_all(tasks: Sequence[Callable[[], T]]) -> tuple[T, ...]:
    """Runs the tasks at the same time and returns their results in the order of the tasks. Raises the error of the
    first failed task in that order.
    """
    results: list[T] = []
    for one in spawn_all(tasks):
        if isinstance(one, Exception):
            raise one
        results.append(one)
    return tuple(results)


def _open(context: AppContext, url: str, deadline: float, streams: ExitStack) -> Stream:
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
        raise _invalid(url, f"Its server answered {answer.status}.")
    return answer


def _fetched(url: str, answer: Stream) -> Picture:
    chunks, left = [], answer.length_bytes
    with _refusals(url):
        for chunk in answer.chunks:
            chunks.append(chunk)
            left = None if left is None else left - len(chunk)
            if left is not None and left < 0:  # a chunked body has no announced length
                raise _invalid(url, "The file is longer than its server announced.")
    return _checked_picture(url, b"".join(chunks))


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
    files = _get_files(context, caller, GetFiles(media_ids=tuple(media_ids)))
    if gifs := tuple(file.media_id for file in files if file.mime_type == GIF):
        jpegs = {
            file.media_id: file for file in _get_files(context, caller, GetFiles(media_ids=gifs, jpeg=True))
        }
        files = [jpegs.get(file.media_id, file) for file in files]
    for file in files:
        if file.mime_type not in REFERENCE_TYPES:
            raise _invalid(file.media_id, "The file is not an image.")
        if file.size_bytes > context.settings.max_reference_bytes:
            raise _invalid(
                file.media_id, f"The file is larger than {context.settings.max_reference_bytes} bytes."
            )
    return files


def _get_files(context: AppContext, caller: Caller, request: GetFiles) -> Sequence[MediaFile]:
    try:
        get_files = remote(context.media.get_files)
        return get_files(caller, request, timeout_seconds=context.settings.reference_seconds).files
    except ApiError as error:
        if error.row in (NOT_FOUND, BRAND_NOT_AUTHORIZED, INVALID_FILE_CONTENT):
            raise ApiError(
                INVALID_REFERENCE_MEDIA, "A media id is not an image you own.", **error.extras
            ) from error
        raise


def _read_stored(context: AppContext, file: MediaFile, deadline: float) -> Picture:
    try:
        body = context.storage.get(
            file.source_url, max_bytes=context.settings.max_reference_bytes, deadline=deadline
        )
    except StorageError as error:
        raise _invalid(file.media_id, "The file could not be read.") from error
    return _checked_picture(file.media_id, body)


def _checked_picture(reference: str, body: bytes) -> Picture:
    mime_type = detect_mime_type(body)
    if mime_type not in REFERENCE_TYPES:
        raise _invalid(reference, "The file is not a JPEG, PNG or WebP.")
    return Picture(body, mime_type)


def _invalid(reference: str, why: str) -> ApiError:
    return ApiError(INVALID_REFERENCE_MEDIA, f"{reference[:200]}: {why}", reference=reference)
