"""Removing from the storage, until it says so: at once where it is there, later where it is not."""

from datetime import timedelta

import structlog

from contracts.errors import ApiError
from media.context import AppContext
from media.records import Removal
from media.store.removals import Removals

log = structlog.get_logger()

#: Between tries: 30 s, doubled each time, at most an hour. Our choice.
_FIRST_WAIT_SECONDS, _LONGEST_WAIT_SECONDS = 30, 3600
_BATCH = 50


def remove_now(context: AppContext, key: str, slug: str, parts_id: str | None) -> bool:
    """Everything under the key, and an upload in parts; the note that it is to go is taken away. False: later."""
    try:
        if parts_id is not None:
            context.objects.abort_parts(f"{key}/{slug}", parts_id)
        context.objects.remove_key(key)
    except ApiError:
        return False
    with context.database.transaction() as connection:
        Removals(connection).done([key])
    return True


def remove_due(context: AppContext) -> int:
    """One round of the clean-up; how many went."""
    with context.database.transaction() as connection:
        due = Removals(connection).claim(_BATCH, timedelta(seconds=_FIRST_WAIT_SECONDS))
    gone = 0
    for removal in due:
        if remove_now(context, removal.key, removal.slug, removal.parts_id):
            gone += 1
        else:
            _put_off(context, removal)
    return gone


def _put_off(context: AppContext, removal: Removal) -> None:
    seconds = min(_FIRST_WAIT_SECONDS * 2 ** min(removal.attempts, 10), _LONGEST_WAIT_SECONDS)
    with context.database.transaction() as connection:
        Removals(connection).put_off(removal.key, timedelta(seconds=seconds))
    log.warning("removal_waits", key=removal.key, attempts=removal.attempts, retry_after_seconds=seconds)
