"""Inspects an uploaded file: is it complete, and of the declared type? Removes metadata from what is stored.

Only sandboxed processes read the bytes. They get an image as a temporary file, and of a video the ranges they ask for.
"""

import socket
import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from typing import IO, Any

import structlog

from chassis.sandbox.pool import NotStarted, WorkFailed
from contracts.errors import INVALID_FILE_CONTENT, SERVICE_UNAVAILABLE, UPLOAD_ERROR, ApiError
from media.context import AppContext
from media.decoder import videos
from media.decoder.formats import Refused
from media.decoder.range_channel import serve_ranges
from media.inspection import ffprobe
from media.inspection.channels import channel
from media.inspection.patched_stream import patched
from media.records import FileProperties, Upload
from media.storage.bucket import PIECE_BYTES
from media.store.uploads import Uploads

log = structlog.get_logger()

#: Read from a video's headers first, then by ffprobe.
_PROPERTIES = ("width", "height", "duration_seconds")


def inspect(context: AppContext, upload: Upload, announced_bytes: int) -> FileProperties:
    """Returns the file's properties; its metadata is gone from the storage then.

    Raises UPLOAD_ERROR (not as announced), INVALID_FILE_CONTENT, SERVICE_UNAVAILABLE.
    """
    size_bytes = context.bucket.size(upload.object_name)
    if size_bytes is None or not upload.arrived(size_bytes, announced_bytes):
        arrived = "nothing" if size_bytes is None else f"{size_bytes} bytes"
        raise ApiError(UPLOAD_ERROR, f"{announced_bytes} bytes were announced, {arrived} arrived.")
    if size_bytes == 0:
        raise ApiError(INVALID_FILE_CONTENT, "The file is empty.")
    try:
        return _video(context, upload, size_bytes) if upload.kind == "video" else _image(context, upload)
    except Refused as refusal:
        raise ApiError(INVALID_FILE_CONTENT, str(refusal)) from refusal


def _image(context: AppContext, upload: Upload) -> FileProperties:
    with tempfile.TemporaryFile() as uploaded, tempfile.TemporaryFile() as replacement:
        context.bucket.download(upload.object_name, uploaded)
        argument, files = {"mime_type": upload.mime_type}, (uploaded.fileno(), replacement.fileno())
        found = _inspect(context, "inspect_image", argument, files)
        kept = replacement if found["changed"] else uploaded
        size_bytes = kept.seek(0, 2)
        if found["changed"]:
            with context.database.transaction() as connection:
                Uploads(connection).note_replaced(upload.id, size_bytes)
            put_file(context, upload.object_name, kept, upload.mime_type)
    return FileProperties(size_bytes, found["width"], found["height"])


def _video(context: AppContext, upload: Upload, size_bytes: int) -> FileProperties:
    name, mime_type = upload.object_name, upload.mime_type
    with channel(partial(_serve_ranges, context, name)) as descriptor:
        argument = {"mime_type": mime_type, "size_bytes": size_bytes}
        found = _inspect(context, "inspect_video", argument, (descriptor,))
    properties = tuple(found[name] for name in _PROPERTIES)
    if None in properties:
        probed = ffprobe.probe(context, upload)
        properties = tuple(
            getattr(probed, name) if it is None else it
            for name, it in zip(_PROPERTIES, properties, strict=True)
        )
    if patches := videos.patches(found):
        # S3 cannot change bytes in place, so the whole object is written anew.
        context.bucket.put(name, patched(context.bucket.pieces(name), patches), size_bytes, mime_type)
    return FileProperties(size_bytes, *properties)


def _inspect(
    context: AppContext, function: str, argument: dict[str, Any], files: Sequence[int]
) -> dict[str, Any]:
    """Raises Refused; SERVICE_UNAVAILABLE when no process could be started."""
    try:
        found: dict[str, Any] = context.sandbox_pool.run(function, argument, files)
    except NotStarted as error:
        raise ApiError(SERVICE_UNAVAILABLE, retry_after_seconds=2) from error
    except WorkFailed as failure:
        log.warning("inspection_failed", function=function, problem=str(failure), **argument)
        raise Refused("The file cannot be read.") from failure
    if "refused" in found:
        raise Refused(found["refused"])
    return found


def _serve_ranges(context: AppContext, name: str, end: socket.socket) -> None:
    """Sends the ranges of the object that the sandboxed process asks for. Raises SERVICE_UNAVAILABLE."""
    try:
        serve_ranges(end, lambda offset, length: context.bucket.read(name, offset, length))
    except OSError as error:
        # The process reached its time limit while it waited for a range: not the video's fault.
        raise ApiError(SERVICE_UNAVAILABLE, retry_after_seconds=5) from error


def put_file(context: AppContext, name: str, file: IO[bytes], mime_type: str) -> int:
    """Stores the whole file under the name and returns its size in bytes."""
    size_bytes = file.seek(0, 2)
    file.seek(0)
    context.bucket.put(name, _pieces(file), size_bytes, mime_type)
    return size_bytes


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    while piece := file.read(PIECE_BYTES):
        yield piece
