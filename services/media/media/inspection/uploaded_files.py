"""Inspects an uploaded file by sandboxed processes, and removes metadata from the stored object."""

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import IO

import structlog

from chassis.sandbox.pool import OutOfLimits, WorkFailed
from contracts.errors import INVALID_FILE_CONTENT, SERVICE_UNAVAILABLE, UPLOAD_ERROR, ApiError
from contracts.renditions import FileFacts
from media import file_types, names
from media.context import AppContext
from media.decoder.formats import UNREADABLE, Refused
from media.inspection import ffmpeg
from media.inspection.ffmpeg import FilmFiles
from media.models import Upload
from media.store.uploads import Uploads

log = structlog.get_logger()

_TOO_LARGE = "The file takes too much memory or time to open. Make it smaller, or export it as JPEG or MP4."


def inspect(context: AppContext, upload: Upload, announced_bytes: int) -> FileFacts:
    """Inspects an uploaded file, removes its metadata from the stored object, and returns its properties. Raises
    UPLOAD_ERROR if its size is not as announced, INVALID_FILE_CONTENT if it is refused, and SERVICE_UNAVAILABLE.
    """
    size_bytes = context.bucket.size(upload.object_name)
    if size_bytes is None or not upload.arrived(size_bytes, announced_bytes):
        arrived = "nothing" if size_bytes is None else f"{size_bytes} bytes"
        raise ApiError(UPLOAD_ERROR, f"{announced_bytes} bytes were announced, {arrived} arrived.")
    if size_bytes == 0:
        raise ApiError(INVALID_FILE_CONTENT, "The file is empty.")
    head = context.bucket.read(upload.object_name, 0, file_types.HEAD_BYTES)
    mime_type = file_types.true_type(upload.mime_type, head)
    try:
        return (_video if names.kind(mime_type) == "video" else _image)(context, upload, mime_type)
    except Refused as refusal:
        raise ApiError(INVALID_FILE_CONTENT, str(refusal)) from refusal


def _image(context: AppContext, upload: Upload, mime_type: str) -> FileFacts:
    with (
        context.inspection_slot(upload.account_id),
        context.sandbox_pool.turn(),
        fetched(context, upload.object_name) as (uploaded, replacement, files),
    ):
        argument, has_threads = {"mime_type": mime_type}, mime_type == "image/heic"  # libde265 needs a thread
        try:
            found = context.sandbox_pool.run(
                "inspect_image", argument, files[:2], has_threads=has_threads, has_turn=True
            )
        except WorkFailed as failure:
            log.warning("inspection_failed", mime_type=mime_type, problem=str(failure))
            raise Refused(_TOO_LARGE if isinstance(failure, OutOfLimits) else UNREADABLE) from failure
        if "refused" in found:
            raise Refused(found["refused"])
        kept, stored_type = replacement if found["changed"] else uploaded, found["mime_type"]
        size_bytes = kept.seek(0, 2)
        if found["changed"] or stored_type != upload.mime_type:
            _replace(context, upload, kept, stored_type)
    sides = {"width": found["width"], "height": found["height"]}
    return FileFacts(type="photo", mime_type=stored_type, size_bytes=size_bytes, **sides)


def _video(context: AppContext, upload: Upload, mime_type: str) -> FileFacts:
    with (
        context.video_slot(upload.account_id),
        fetched(context, upload.object_name) as (uploaded, made, files),
    ):
        found = ffmpeg.copy(context, mime_type, files, uploaded.tell())
        try:
            context.sandbox_pool.run("blank_notes", files=[files.target])
        except WorkFailed as failure:
            raise Refused(UNREADABLE) from failure
        size_bytes = _replace(context, upload, made, mime_type)
    return FileFacts.made_from(found, mime_type=mime_type, size_bytes=size_bytes)


@contextmanager
def fetched(context: AppContext, object_name: str) -> Iterator[tuple[IO[bytes], IO[bytes], FilmFiles]]:
    """Yields a copy of a stored object, an empty file, and their descriptors. Neither file is left, even after a kill.
    Raises SERVICE_UNAVAILABLE if the storage is away, the temporary folder is full, or the block raises OSError.
    """
    event = "temporary_file_failed"
    try:
        with ExitStack() as stack:  # closing may fail too
            source, target = (stack.enter_context(tempfile.TemporaryFile()) for _ in range(2))
            read_back = stack.enter_context(open(f"/proc/self/fd/{target.fileno()}", "rb"))
            context.bucket.download(object_name, source)
            event = "work_on_file_failed"
            yield source, target, FilmFiles(source.fileno(), target.fileno(), read_back.fileno())
    except OSError as error:
        log.warning(event, error=str(error))
        raise ApiError(SERVICE_UNAVAILABLE, retry_after_seconds=5) from error


def _replace(context: AppContext, upload: Upload, file: IO[bytes], mime_type: str) -> int:
    """Notes the file's size in the upload's row, then stores the file as its object. Returns the size in bytes."""
    size_bytes = file.seek(0, 2)
    with context.database.transaction() as connection:
        if not Uploads(connection).note_replaced(upload, size_bytes):  # another call may have kept the object
            raise ApiError(SERVICE_UNAVAILABLE, retry_after_seconds=1)
    return context.bucket.put(upload.object_name, file, mime_type)
