"""Makes one rendition or thumbnail: downloads the file, runs a sandboxed process, stores the result. Temporary files
have no name, so that a killed process leaves none."""

import tempfile
from contextlib import nullcontext
from typing import Any

from contracts.platforms import JPEG
from contracts.renditions import Need
from media.context import AppContext
from media.inspection.ffmpeg import FilmFiles
from media.inspection.film_renditions import Progress, make_film, make_thumbnail
from media.inspection.uploaded_files import opened_twice
from media.models import MediaRow


def make(
    context: AppContext, row: MediaRow, need: Need, object_name: str, progress: Progress = lambda _: None
) -> dict[str, Any]:
    """Makes the rendition `need` of a file and stores it as the object `object_name`. Returns size in bytes, width,
    height, and the duration if there is one.

    A JPEG of a video is its thumbnail. `progress` is called with the share that is done. Raises WorkFailed or Refused
    if the file cannot be converted; NotStarted, OSError or SERVICE_UNAVAILABLE if another try may succeed.
    """
    is_photo = row.kind == "photo"
    turn = context.sandbox_pool.turn() if is_photo else nullcontext()  # videos hold no turn for minutes
    with turn, tempfile.TemporaryFile() as original, opened_twice() as (made, read_back):
        context.bucket.download(row.object_name, original)
        files = FilmFiles(original.fileno(), made.fileno(), read_back.fileno())
        facts: dict[str, Any] = {"width": need.width, "height": need.height}
        if is_photo:
            argument = {"mime_type": row.mime_type, "max_bytes": need.max_bytes, **facts}
            facts = context.sandbox_pool.run("make_picture", argument, files[:2], has_turn=True)
        elif need.mime_type == JPEG:
            make_thumbnail(context, row.mime_type, need, files)
        else:
            film = make_film(context, row.mime_type, need, files, progress)
            facts = {
                "width": film.width,
                "height": film.height,
                "duration_seconds": film.duration_seconds,
            }
        return {**facts, "size_bytes": context.bucket.put(object_name, made, need.mime_type)}
