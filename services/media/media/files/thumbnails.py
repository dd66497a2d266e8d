"""Makes thumbnails: by a loop soon after a file is stored, and in small batches for files of earlier releases."""

import time
from datetime import timedelta

import structlog

from chassis.sandbox.pool import NotStarted, WorkFailed
from contracts.errors import ApiError
from contracts.media import thumbnail_of
from media.context import AppContext
from media.decoder.formats import Refused
from media.inspection import thumbnails
from media.inspection.ffmpeg import FfmpegEnded
from media.records import MediaRow
from media.store.files import Files

log = structlog.get_logger()

#: Longer than one takes. Files of an earlier release wait for the loop's interval after each batch, so that the others
#: are not delayed. Our choice.
_LEASE, _BATCH = timedelta(minutes=5), 10
#: After ffmpeg was ended by a limit or by the system, so that such a video is tried once a day. Our choice.
_PAUSE_AFTER_END = timedelta(days=1)
#: A batch ends after this time, so that a run of the loop ends before its deadline.
_BATCH_SECONDS = 20.0


def make_due(context: AppContext) -> int:
    """Makes the thumbnails of some files. Returns 0, so that further ones wait for the next tick."""
    give_up_at = time.monotonic() + _BATCH_SECONDS
    for _ in range(_BATCH):
        with context.database.transaction() as connection:
            claimed = Files(connection).claim_without_thumbnail(1, _LEASE)
        for row in claimed:
            _make(context, row)
        if not claimed or time.monotonic() > give_up_at:
            break
    return 0


def _make(context: AppContext, row: MediaRow) -> None:
    try:
        size_bytes = thumbnails.make(context, row)
    except FfmpegEnded:
        with context.database.transaction() as connection:
            Files(connection).put_off_thumbnail(row.id, _PAUSE_AFTER_END)
        return
    except (NotStarted, OSError, ApiError) as error:
        log.warning("thumbnail_put_off", media_id=row.id, reason=str(error))
        return
    except (WorkFailed, Refused) as error:
        log.warning("thumbnail_failed", media_id=row.id, reason=str(error))
        size_bytes = 0
    with context.database.transaction() as connection:
        is_there = Files(connection).set_thumbnail(row.id, size_bytes)
    if not is_there and size_bytes:  # deleted meanwhile
        context.bucket.remove(row.object_of(thumbnail_of(row.slug)))
