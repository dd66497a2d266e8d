"""Makes one rendition: downloads the file, runs a sandboxed process, stores the result. Temporary files have no name,
so that a killed process leaves none."""

import tempfile
from contextlib import nullcontext
from functools import partial
from typing import Any

from media.context import AppContext
from media.inspection import film_renditions
from media.inspection.ffmpeg import FilmFiles
from media.inspection.uploaded_files import opened_twice, put_file
from media.records import MediaRow, Rendition


def make(context: AppContext, row: MediaRow, rendition: Rendition, object_name: str) -> dict[str, Any]:
    """Makes the rendition and stores it as the object `object_name`. Returns its size in bytes, width, height, and
    its duration if it has one.

    Raises WorkFailed, Refused, NotStarted, OSError, SERVICE_UNAVAILABLE.
    """
    need = rendition.need
    is_photo = row.kind == "photo"  # a video's making holds no turn for minutes
    turn = context.sandbox_pool.turn() if is_photo else nullcontext()
    with turn, tempfile.TemporaryFile() as original, opened_twice() as (made, read_back):
        context.bucket.download(row.object_name, original)
        if is_photo:
            argument = {
                "mime_type": row.mime_type,
                "width": need.width,
                "height": need.height,
                "max_bytes": need.max_bytes,
            }
            files = (original.fileno(), made.fileno())
            facts = context.sandbox_pool.run("make_picture", argument, files, has_turn=True)
        else:
            note = partial(context.held_renditions.__setitem__, rendition.id)
            films = FilmFiles(original.fileno(), made.fileno(), read_back.fileno())
            found = film_renditions.make(context, row.mime_type, need, note, films)
            facts = {"width": found.width, "height": found.height, "duration_seconds": found.duration_seconds}
        return {**facts, "size_bytes": put_file(context, object_name, made, need.mime_type)}
