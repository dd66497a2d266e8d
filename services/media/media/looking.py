"""The look at what arrived: is it the file that was announced, and of the type it was declared to be?

Pictures go through a temporary file into a confined process; of videos the headers are read where they lie.
"""

import tempfile
from collections.abc import Iterator
from typing import IO

import structlog

from chassis.confined import NotStarted, WorkFailed
from contracts.errors import INVALID_FILE_CONTENT, SERVICE_UNAVAILABLE, UPLOAD_ERROR, ApiError
from media import stowaways
from media.formats import Patch, Refused, mp4, webm
from media.formats.ranges import Ranges
from media.house import House
from media.objects import PIECE_BYTES
from media.patching import patched
from media.records import Seen, Stored, Upload

log = structlog.get_logger()


def look(house: House, upload: Upload, said_bytes: int) -> Seen:
    """What the file is; what is to go of it is gone from the storage.

    Raises UPLOAD_ERROR (not as announced), INVALID_FILE_CONTENT, SERVICE_UNAVAILABLE.
    """
    size_bytes = house.objects.size(upload.object_name)
    if size_bytes is None or size_bytes != said_bytes or size_bytes > upload.size_bytes:
        arrived = "nothing" if size_bytes is None else f"{size_bytes} bytes"
        raise ApiError(UPLOAD_ERROR, f"{said_bytes} bytes were announced, {arrived} arrived.")
    if size_bytes == 0:
        raise ApiError(INVALID_FILE_CONTENT, "The file is empty.")
    try:
        return (
            _look_at_video(house, upload, size_bytes)
            if upload.kind == "video"
            else _look_at_picture(house, upload)
        )
    except Refused as refusal:
        raise ApiError(INVALID_FILE_CONTENT, str(refusal)) from refusal


def _look_at_picture(house: House, upload: Upload) -> Seen:
    with tempfile.TemporaryFile() as uploaded, tempfile.TemporaryFile() as instead:
        house.objects.download(upload.object_name, uploaded)
        try:
            found = house.workshop.run(
                "inspect", {"mime_type": upload.mime_type}, (uploaded.fileno(), instead.fileno())
            )
        except NotStarted as error:
            raise ApiError(SERVICE_UNAVAILABLE, retry_after_seconds=2) from error
        except WorkFailed as failure:
            log.warning("look_failed", upload_id=upload.id, problem=str(failure))
            raise Refused("The picture cannot be read.") from failure
        if "refused" in found:
            raise Refused(found["refused"])
        kept = instead if found["changed"] else uploaded
        size_bytes = kept.seek(0, 2)
        if found["changed"]:
            put_file(house, upload.object_name, kept, upload.mime_type)
    return Seen(size_bytes, found["width"], found["height"])


def _look_at_video(house: House, upload: Upload, size_bytes: int) -> Seen:
    name = upload.object_name
    file = Ranges(lambda offset, length: house.objects.read(name, offset, length), size_bytes)
    tail = file.tail(stowaways.ZIP_TAIL_BYTES)
    stowaways.check_type(file.read(0, min(16, size_bytes)), upload.mime_type)
    stowaways.check_metadata([file.read(0, min(size_bytes, stowaways.EDGE_BYTES)), tail])
    stowaways.check_tail(tail)
    video = webm.look(file) if upload.mime_type == "video/webm" else mp4.look(file, upload.mime_type)
    if video.patches:
        _write_over(house, upload, size_bytes, video.patches)
    return Seen(size_bytes, video.width, video.height, video.duration_seconds)


def _write_over(house: House, stored: Stored, size_bytes: int, patches: list[Patch]) -> None:
    """S3 changes no byte in place: the object passes through, and replaces itself when all of it has."""
    name = stored.object_name
    house.objects.put(name, patched(house.objects.pieces(name), patches), size_bytes, stored.mime_type)


def put_file(house: House, name: str, file: IO[bytes], mime_type: str) -> int:
    """Store all of the file under the name; its size in bytes."""
    size_bytes = file.seek(0, 2)
    file.seek(0)
    house.objects.put(name, _pieces(file), size_bytes, mime_type)
    return size_bytes


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    while piece := file.read(PIECE_BYTES):
        yield piece
