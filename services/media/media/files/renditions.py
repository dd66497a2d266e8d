"""Renditions: files made of uploads so that platforms take them (`contracts.renditions`). They are made in the
background, or at once for a picture that is needed already. If a process dies, another makes its rendition.
"""

import time
from collections.abc import Collection
from contextlib import AbstractContextManager, nullcontext
from datetime import timedelta
from functools import partial

import structlog

from chassis.runtime.loops import Waker
from contracts.errors import INVALID_FILE_CONTENT, MEDIA_PROCESSING, NOT_FOUND, ApiError
from contracts.renditions import Need, need_of
from media.context import AppContext
from media.decoder.formats import Refused
from media.inspection import rendition_making
from media.inspection.ffmpeg import FfmpegEnded
from media.models import MediaRow, Rendition
from media.store import Connection
from media.store.files import Files
from media.store.renditions import Renditions

log = structlog.get_logger()

RENDITIONS_DUE = Waker()
#: A claim is renewed every five seconds (service.py); five renewals may fail.
LEASE = timedelta(seconds=30)
#: After a failure that is not the file's: the storage was away, or all sandboxed processes were busy. Our choice.
_PAUSE = timedelta(seconds=5)
#: Only tries that ended the process or ffmpeg count, as an outage may last longer than any number of tries. Our choice.
_MAX_TRIES = 5
#: A call for files waits no longer for renditions: publishing's ends after 30 s.
_WAIT_SECONDS = 20.0
_LOOK_SECONDS = 0.1
#: The `Retry-After` of MEDIA_PROCESSING. Our choice.
_RETRY_SECONDS = {"photo": 2, "video": 5}
_UNFINISHED = "A file of the post is being converted for the platform: {:.0f} % is done. Nothing was sent."
#: Longer than a client waits before it repeats a publish, and than a platform fetches a file. Our choice.
_KEPT_UNUSED = timedelta(hours=24)
_BATCH = 100


def begin(connection: Connection, rows: Collection[MediaRow], platforms: Collection[str]) -> None:
    """Stores which renditions these platforms need of the files, so that they are made in the background."""
    for row in rows:
        for need in {need for it in platforms if (need := need_of(it, row.facts)) is not None}:
            Renditions(connection).ask(row, need, again=True)


def ready(context: AppContext, row: MediaRow, need: Need, began: float) -> Rendition:
    """Returns the finished rendition of a file for a need. Makes a picture's now, or waits for another process that
    makes it, until _WAIT_SECONDS after `began` (by `time.monotonic`). Raises MEDIA_PROCESSING if the rendition is not
    finished, INVALID_FILE_CONTENT if it cannot be made, NOT_FOUND if the file was deleted meanwhile, and
    SERVICE_UNAVAILABLE if the storage does not answer.
    """
    rendition: Rendition | None = None
    with context.database.transaction() as connection:
        if Files(connection).many([row.id], lock=True):
            rendition = Renditions(connection).ask(row, need)
    while rendition is not None and rendition.state == "pending":
        claimed = None
        if row.kind == "photo":
            with context.database.transaction() as connection:
                claimed = Renditions(connection).claim(rendition.id, LEASE)
        if claimed is not None:
            _make(context, row, claimed, context.inspection_slot(row.account_id))
        elif row.kind == "photo" and time.monotonic() <= began + _WAIT_SECONDS:
            time.sleep(_LOOK_SECONDS)
        else:
            RENDITIONS_DUE.wake()
            message = _UNFINISHED.format(rendition.progress * 100) if rendition.progress else None
            wait_seconds = _RETRY_SECONDS[row.kind]
            raise ApiError(MEDIA_PROCESSING, message, retry_after_seconds=wait_seconds, media_id=row.id)
        with context.database.reading() as connection:
            rendition = Renditions(connection).get(rendition.id)
    if rendition is None:
        raise ApiError(NOT_FOUND, field="media_ids")
    if rendition.state == "failed":
        raise ApiError(INVALID_FILE_CONTENT, rendition.failure)
    return rendition


def make_due(context: AppContext) -> int:
    """Makes pending renditions in the background: starts as many tasks as the pool has room for. Returns how many."""
    fill = context.rendition_pool.fill
    return sum(fill(kind, partial(_claim_due, context, kind)) for kind in ("photo", "video"))


def renew_claims(context: AppContext) -> int:
    """Renews the claims on the renditions that this process makes, and stores how far each has come."""
    with context.database.transaction() as connection:
        for rendition_id, progress in context.held_renditions.copy().items():
            Renditions(connection).renew(rendition_id, progress, LEASE)
    return 0


def forget_unneeded(context: AppContext) -> int:
    """Marks renditions that no post needs, and deletes those marked. Returns how many it marked and deleted."""
    with context.database.transaction() as connection:
        marked = Renditions(connection).mark_unneeded(_KEPT_UNUSED, _BATCH)
    with context.database.reading() as connection:
        unneeded = Renditions(connection).unneeded(_BATCH)
    for _, object_name in unneeded:
        context.bucket.remove(object_name)
    with context.database.transaction() as connection:
        Renditions(connection).remove([rendition_id for rendition_id, _ in unneeded])
    return marked + len(unneeded)


def _claim_due(context: AppContext, kind: str, places: int) -> list[partial[None]]:
    with context.database.transaction() as connection:
        claimed = Renditions(connection).claim_due(kind, places, LEASE)
        rows = Files(connection).many({rendition.media_id for rendition in claimed})
    there = [(rows[it.media_id], it) for it in claimed if it.media_id in rows]
    return [partial(_make_in_background, context, row, rendition) for row, rendition in there]


def _make_in_background(context: AppContext, row: MediaRow, rendition: Rendition) -> None:
    try:
        _make(context, row, rendition, nullcontext())
    except ApiError as error:
        log.warning("rendition_put_off", rendition_id=rendition.id, reason=error.message)
    RENDITIONS_DUE.wake()


def _make(
    context: AppContext, row: MediaRow, rendition: Rendition, slot: AbstractContextManager[None]
) -> None:
    """Makes a claimed rendition inside `slot`, or stores why it cannot be made, or raises SERVICE_UNAVAILABLE."""
    began = time.monotonic()
    context.held_renditions[rendition.id] = 0.0
    try:
        if rendition.tries > _MAX_TRIES:
            log.error("rendition_given_up", rendition_id=rendition.id, media_id=row.id)
            raise Refused(rendition_making.UNMADE)
        object_name = row.object_of(rendition.slug)
        with slot:
            progress = partial(context.held_renditions.__setitem__, rendition.id)
            facts = rendition_making.make(context, row, rendition.need, object_name, progress)
        with context.database.transaction() as connection:
            is_there = Renditions(connection).record(rendition.id, **facts)
        if not is_there:  # deleted meanwhile
            context.bucket.remove(object_name)
        log.info("rendition_made", media_id=row.id, need=rendition.need.key, seconds=time.monotonic() - began)
    except Refused as refusal:
        with context.database.transaction() as connection:
            Renditions(connection).fail(rendition.id, str(refusal))
    except ApiError as error:
        with context.database.transaction() as connection:
            Renditions(connection).put_off(rendition.id, _PAUSE, counts=isinstance(error, FfmpegEnded))
        raise
    finally:
        context.held_renditions.pop(rendition.id, None)
