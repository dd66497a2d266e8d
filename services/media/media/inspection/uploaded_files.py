"""The look at what arrived: is it the file that was announced, and of the type it was declared to be?

Whatever reads a stranger's bytes does it in a confined process. A picture goes there through a temporary file; of a
film only the ranges go that are asked for.
"""

import socket
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Any

import structlog

from chassis.sandbox.pool import NotStarted, WorkFailed
from contracts.errors import INVALID_FILE_CONTENT, SERVICE_UNAVAILABLE, UPLOAD_ERROR, ApiError
from media.context import AppContext
from media.decoder import films
from media.decoder.formats import Refused
from media.inspection import ffprobe
from media.inspection.patched_stream import patched
from media.records import Seen, Upload
from media.storage.bucket import PIECE_BYTES
from media.store.uploads import Uploads

log = structlog.get_logger()

#: What a film is asked: its headers first, then ffprobe.
_TOLD = ("width", "height", "duration_seconds")


def look(context: AppContext, upload: Upload, said_bytes: int) -> Seen:
    """What the file is; what is to go of it is gone from the storage.

    Raises UPLOAD_ERROR (not as announced), INVALID_FILE_CONTENT, SERVICE_UNAVAILABLE.
    """
    size_bytes = context.objects.size(upload.object_name)
    if size_bytes is None or not upload.arrived(size_bytes, said_bytes):
        arrived = "nothing" if size_bytes is None else f"{size_bytes} bytes"
        raise ApiError(UPLOAD_ERROR, f"{said_bytes} bytes were announced, {arrived} arrived.")
    if size_bytes == 0:
        raise ApiError(INVALID_FILE_CONTENT, "The file is empty.")
    try:
        return _film(context, upload, size_bytes) if upload.kind == "video" else _picture(context, upload)
    except Refused as refusal:
        raise ApiError(INVALID_FILE_CONTENT, str(refusal)) from refusal


def _picture(context: AppContext, upload: Upload) -> Seen:
    with tempfile.TemporaryFile() as uploaded, tempfile.TemporaryFile() as instead:
        context.objects.download(upload.object_name, uploaded)
        argument, files = {"mime_type": upload.mime_type}, (uploaded.fileno(), instead.fileno())
        found = _inspect(context, "inspect_picture", argument, files)
        kept = instead if found["changed"] else uploaded
        size_bytes = kept.seek(0, 2)
        if found["changed"]:
            with context.database.transaction() as connection:
                Uploads(connection).note_replaced(upload.id, size_bytes)
            put_file(context, upload.object_name, kept, upload.mime_type)
    return Seen(size_bytes, found["width"], found["height"])


def _film(context: AppContext, upload: Upload, size_bytes: int) -> Seen:
    name, mime_type = upload.object_name, upload.mime_type
    with _line_to(context, name) as line:
        argument = {"mime_type": mime_type, "size_bytes": size_bytes}
        found = _inspect(context, "inspect_film", argument, (line,))
    shown = tuple(found[name] for name in _TOLD)
    if None in shown:
        told = ffprobe.probe(context, upload)
        shown = tuple(
            getattr(told, name) if it is None else it for name, it in zip(_TOLD, shown, strict=True)
        )
    if patches := films.patches(found):
        # S3 changes no byte in place: the object passes through, and replaces itself when all of it has.
        context.objects.put(name, patched(context.objects.pieces(name), patches), size_bytes, mime_type)
    return Seen(size_bytes, *shown)


def _inspect(
    context: AppContext, function: str, argument: dict[str, Any], files: Sequence[int]
) -> dict[str, Any]:
    """Raises Refused; SERVICE_UNAVAILABLE when there is no process to do it."""
    try:
        found: dict[str, Any] = context.workshop.run(function, argument, files)
    except NotStarted as error:
        raise ApiError(SERVICE_UNAVAILABLE, retry_after_seconds=2) from error
    except WorkFailed as failure:
        log.warning("look_failed", function=function, problem=str(failure), **argument)
        raise Refused("The file cannot be read.") from failure
    if "refused" in found:
        raise Refused(found["refused"])
    return found


@contextmanager
def _line_to(context: AppContext, name: str) -> Iterator[int]:
    """A descriptor for the confined process, over which ranges of the object come.

    Raises SERVICE_UNAVAILABLE, whatever the work made of it, when the storage went away meanwhile or was too slow.
    """
    ours, theirs = socket.socketpair()
    outages: list[ApiError] = []

    def serve() -> None:
        with ours:
            try:
                films.answer(ours, lambda offset, length: context.objects.read(name, offset, length))
            except ApiError as error:
                outages.append(error)
            except OSError:
                # The work's time was over while it waited for a range: no fault of the film.
                outages.append(ApiError(SERVICE_UNAVAILABLE, retry_after_seconds=5))

    server = threading.Thread(target=serve, daemon=True)
    server.start()
    try:
        with theirs:
            yield theirs.fileno()
    finally:
        server.join()
        if outages:
            raise outages[0]


def put_file(context: AppContext, name: str, file: IO[bytes], mime_type: str) -> int:
    """Store all of the file under the name; its size in bytes."""
    size_bytes = file.seek(0, 2)
    file.seek(0)
    context.objects.put(name, _pieces(file), size_bytes, mime_type)
    return size_bytes


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    while piece := file.read(PIECE_BYTES):
        yield piece
