"""Deletes objects from the storage, and retries until the storage confirms it (table `removals`)."""

from datetime import timedelta

import structlog

from chassis.runtime.loops import Waker
from contracts.errors import ApiError
from media.context import AppContext
from media.models import Removal, Upload
from media.store.removals import Removals

log = structlog.get_logger()

#: Between tries: 30 s, doubled each time, at most an hour. Our choice.
_FIRST_WAIT, _LONGEST_WAIT = timedelta(seconds=30), timedelta(hours=1)
_BATCH = 50
#: Wakes the loop that runs `remove_due`.
REMOVALS_DUE = Waker()


def remove_now(context: AppContext, ended: Upload | Removal) -> bool:
    """Deletes from the storage every object of an ended upload or removal, then its row in `removals`. Returns False
    when the storage is down.

    An unfinished multipart upload is aborted first.
    """
    try:
        if ended.parts_id is not None:
            context.bucket.abort_parts(f"{ended.key}/{ended.slug}", ended.parts_id)
        context.bucket.remove_key(ended.key)
    except ApiError:
        return False
    with context.database.transaction() as connection:
        Removals(connection).done(ended.key)
    return True


def remove_due(context: AppContext) -> int:
    """Deletes a batch of the objects whose deletion is due. Returns how many keys have no objects any more."""
    with context.database.transaction() as connection:
        due = Removals(connection).claim(_BATCH, _FIRST_WAIT, _LONGEST_WAIT)
    gone = [it for it in due if remove_now(context, it)]
    if len(gone) < len(due):
        log.warning("removals_postponed", count=len(due) - len(gone))
    return len(gone)
