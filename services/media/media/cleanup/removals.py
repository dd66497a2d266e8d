"""Deletes objects from the storage, and retries until the storage confirms it (table `removals`)."""

from datetime import timedelta

import structlog

from chassis.runtime.loops import Waker
from contracts.errors import ApiError
from media.context import AppContext
from media.records import Removal
from media.store.removals import Removals

log = structlog.get_logger()

#: Between tries: 30 s, doubled each time, at most an hour. Our choice.
_FIRST_WAIT_SECONDS, _LONGEST_WAIT_SECONDS = 30, 3600
_BATCH = 50
#: Wakes the loop that runs `remove_due`.
REMOVALS_DUE = Waker()


def remove_now(context: AppContext, key: str, slug: str, parts_id: str | None) -> bool:
    """Deletes every object under the key, then the key's row in `removals`. Returns False when the storage is down.

    `parts_id` is the key's multipart upload, which is aborted first; None if there is none.
    """
    try:
        if parts_id is not None:
            context.bucket.abort_parts(f"{key}/{slug}", parts_id)
        context.bucket.remove_key(key)
    except ApiError:
        return False
    with context.database.transaction() as connection:
        Removals(connection).done([key])
    return True


def remove_due(context: AppContext) -> int:
    """Deletes some of the objects whose deletion is due. Returns for how many keys it succeeded."""
    with context.database.transaction() as connection:
        due = Removals(connection).claim(_BATCH, timedelta(seconds=_FIRST_WAIT_SECONDS))
    gone = 0
    for removal in due:
        if remove_now(context, removal.key, removal.slug, removal.parts_id):
            gone += 1
        else:
            _postpone(context, removal)
    return gone


def _postpone(context: AppContext, removal: Removal) -> None:
    seconds = min(_FIRST_WAIT_SECONDS * 2 ** min(removal.attempts, 10), _LONGEST_WAIT_SECONDS)
    with context.database.transaction() as connection:
        Removals(connection).postpone(removal.key, timedelta(seconds=seconds))
    log.warning("removal_postponed", key=removal.key, attempts=removal.attempts, retry_after_seconds=seconds)
