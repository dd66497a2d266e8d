"""Makes the thumbnails of files, in a loop, soon after a file is stored."""

from datetime import timedelta

import structlog

from chassis.runtime.loops import Waker
from contracts.errors import ApiError
from contracts.media import thumbnail_of
from contracts.platforms import JPEG
from contracts.renditions import Need
from media.context import AppContext
from media.decoder.formats import Refused
from media.inspection import rendition_making
from media.inspection.ffmpeg import FfmpegEnded
from media.store.files import Files

log = structlog.get_logger()

THUMBNAILS_DUE = Waker()
#: Of the longer side, in pixels: what a list shows on a fine screen. Our choice.
_SIDE = 320
#: A picture of this size has 20 kB. Our choice.
_MAX_BYTES = 64 * 1024
#: Our choice: longer than making one takes, so that no two processes make the same.
_LEASE = timedelta(minutes=5)
#: After ffmpeg was ended by a limit or by the system, so that such a video is tried once a day. Our choice.
_PAUSE_AFTER_END = timedelta(days=1)


def make_due(context: AppContext) -> int:
    """Makes the thumbnail that became due last. Returns 0 if none is due or can be made now, else 1."""
    with context.database.transaction() as connection:
        row = Files(connection).claim_without_thumbnail(_LEASE)
    if row is None:
        return 0
    name = row.object_of(thumbnail_of(row.slug))
    sides = row.width or _SIDE, row.height or _SIDE
    scale = min(1.0, _SIDE / max(sides))
    width, height = (max(1, round(side * scale)) for side in sides)
    need = Need(mime_type=JPEG, max_bytes=_MAX_BYTES, width=width, height=height)
    try:
        size_bytes = rendition_making.make(context, row, need, name)["size_bytes"]
    except Refused as refusal:
        log.warning("thumbnail_failed", media_id=row.id, reason=str(refusal))
        size_bytes = 0
    except ApiError as error:
        log.warning("thumbnail_put_off", media_id=row.id, reason=str(error))
        if not isinstance(error, FfmpegEnded):
            return 0
        with context.database.transaction() as connection:
            Files(connection).put_off_thumbnail(row.id, _PAUSE_AFTER_END)
        return 1
    with context.database.transaction() as connection:
        is_there = Files(connection).set_thumbnail(row.id, size_bytes)
    if not is_there and size_bytes:  # deleted meanwhile
        context.bucket.remove(name)
    return 1
